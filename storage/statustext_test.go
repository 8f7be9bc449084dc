// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// TestStatusText: JSON has the names, also as keys of maps, and "" for none.
func TestStatusText(t *testing.T) {
	type all struct {
		Status, None storage.Status
		Fetch        storage.FetchStatus
		State        storage.SegmentState
		By           map[storage.Status]int
	}
	in := all{storage.StatusRedirTemp, 0, storage.FetchNotModified, storage.SegmentIndexed,
		map[storage.Status]int{storage.StatusOrphan: 1, storage.StatusGone: 2}}
	text, err := json.Marshal(in)
	want := `{"Status":"db_redir_temp","None":"","Fetch":"fetch_notmodified","State":"indexed",` +
		`"By":{"db_gone":2,"db_orphan":1}}`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v\nwant %s", text, err, want)
	}
	var out all
	if err := json.Unmarshal(text, &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("%+v, %v", out, err)
	}
	for _, bad := range []string{`{"Status":"gone"}`, `{"Fetch":"gone"}`, `{"State":"gone"}`} {
		if err := json.Unmarshal([]byte(bad), &out); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
