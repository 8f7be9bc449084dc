// SPDX-License-Identifier: Apache-2.0

package web

import "net/http"

func (h *Handler) describe(w http.ResponseWriter, _ *http.Request) {}
