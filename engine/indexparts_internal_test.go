// SPDX-License-Identifier: Apache-2.0

package engine

// All tests of this package index in parts, which of a part's first page on may begin within a host.
func init() { partPages = 3 }
