// SPDX-License-Identifier: Apache-2.0

package frontier

import "testing"

// TestForgetWaitsForEvents: a host to which an event is on its way is not forgotten: the event would make it a second
// host of the same name.
func TestForgetWaitsForEvents(t *testing.T) {
	names := newRegistry(4)
	wake := func() *visitState {
		v, _ := names.wake("example,h0,)", 1, func() *shard { return nil })
		return v
	}
	v := wake()
	if names.forget(v, 0) || wake() != v {
		t.Error("a host was forgotten that two wakes are on their way to")
	}
	v.wakes.Add(-1)
	if names.forget(v, 0) {
		t.Error("a host was forgotten that a wake is on its way to")
	}
	v.wakes.Add(-1)
	if !names.forget(v, 0) || wake() == v {
		t.Error("a host was not forgotten")
	}
}
