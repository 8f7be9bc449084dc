// SPDX-License-Identifier: Apache-2.0

package web

// routeAPI adds the routes of /api/v1.
func (h *Handler) routeAPI() {}
