// SPDX-License-Identifier: Apache-2.0

package web

// routePages adds the routes of the pages that people look at.
func (h *Handler) routePages() {}
