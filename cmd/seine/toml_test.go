// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"runtime"
	"strings"
	"testing"
)

// TestKeyLines: each key, and each table, has the line on which it begins.
func TestKeyLines(t *testing.T) {
	text := "\ufeff# x = [\n" +
		"delay = \"2s\" # \"\"\" [\n" + // 2
		"seeds = [ # ]\n\t\"a]\", 'b[',\n\t\"c\\\"[\",\n]\n" + // 3
		"contact = \"\"\"\nnot = 'a key'\n[nor.this]\\\"\"\"\"\"\"\n" + // 7
		"user-agent = '''\n\"\"\" \\'''\n" + // 10
		"scope = ''\n" + // 12
		"[host.\"a]\".headers] # [\n\"X\" = \"1\"\r\n" + // 13
		"[domain]\n\"d.example\".delay = 1\n\"e.example\" = { delay = 1,\n max-pages = 2 }" // 15
	want := map[string]int{
		"delay": 2, "seeds": 3, "contact": 7, "user-agent": 10, "scope": 12,
		"host": 13, `host."a]"`: 13, `host."a]".headers`: 13, `host."a]".headers.X`: 14,
		"domain": 15, `domain."d.example"`: 16, `domain."d.example".delay`: 16,
		`domain."e.example"`: 17, `domain."e.example".delay`: 17, `domain."e.example".max-pages`: 17,
	}
	if got := keyLines(text); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestKeyLinesOfLongStatement: a statement is read once, however many lines it has.
func TestKeyLinesOfLongStatement(t *testing.T) {
	text := "seeds = [\n" + strings.Repeat("\t\"some-file\",\n", 2000) + "]\ndelay = 1\n"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines := keyLines(text)
	runtime.ReadMemStats(&after)
	if lines["delay"] != 2003 {
		t.Errorf("delay is on line %d", lines["delay"])
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 200*uint64(len(text)) {
		t.Errorf("%d bytes allocated for a text of %d", n, len(text))
	}
}
