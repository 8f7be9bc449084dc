// SPDX-License-Identifier: Apache-2.0

package index

// OnLoad sets a function that Refresh calls at each index segment that it loads.
func (x *Index) OnLoad(fn func()) { x.loading = fn }
