// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// writeProtected makes a directory one that takes no writes until the test ends. To root that is a mount, which a
// container may forbid: then the test is skipped.
func writeProtected(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() == 0 {
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
			t.Skip("root may write anywhere, and may not mount here: ", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		return
	}
	mode := func(bits fs.FileMode) {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(name, 0o555|bits)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	mode(0)
	t.Cleanup(func() { mode(0o200) })
}

// TestReadOnlyDirectory: what only reads works in a directory that takes no writes, dry runs and serve among it.
func TestReadOnlyDirectory(t *testing.T) {
	site, dir := crawledSite(t)
	writeProtected(t, dir)
	for _, line := range []string{
		"generate --dry-run --add-days 90", "linkrank --dry-run --top 3", "linkrank --by inlink-domains --dry-run",
		"linkrank --graph domain --dry-run", "search mesh", "readdb --stats", "readlinks --dump", "report url " + site,
		"check url " + site, "verify", "export", "config",
	} {
		if status, out, stderr := runLine(line+" --dir "+dir, ""); status != exitOK || out == "" {
			t.Errorf("%s: status %d, %q, %s", line, status, out, stderr)
		}
	}
	for _, line := range []string{"generate", "linkrank", "index", "crawl"} {
		if status, _, stderr := runLine(line+" --dir "+dir, ""); status != exitDisk {
			t.Errorf("%s: status %d, %s", line, status, stderr)
		}
	}
	address, end := serves(t, dir)
	if text := getText(t, address+"/api/v1/search?q=mesh"); !strings.Contains(text, `"total":`) {
		t.Errorf("serve finds %s", text)
	}
	r, err := http.Post(address+"/api/v1/index", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a change gets status %d", r.StatusCode)
	}
	end()
}

// TestDryRun: a dry run changes no file, and says what a run that writes would say of settings.
func TestDryRun(t *testing.T) {
	_, dir := crawledSite(t)
	files := func() (list string) {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() == "LOCK" {
				return err
			}
			info, err := d.Info()
			list += fmt.Sprintln(name, info.Size(), info.ModTime())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := files()
	for line, says := range map[string]string{
		"generate --dry-run --scope any":            `scope = "any" in this run`,
		"linkrank --dry-run":                        "",
		"linkrank --by inlink-domains --dry-run":    "",
		"linkrank --dry-run --graph domain --top 1": "",
	} {
		status, out, stderr := runLine(line+" --dir "+dir, "")
		if status != exitOK || !strings.Contains(stderr, says) {
			t.Errorf("%s: status %d, %s%s", line, status, out, stderr)
		}
		if after := files(); after != before {
			t.Fatalf("%s changed files\n%s\n%s", line, before, after)
		}
	}
}
