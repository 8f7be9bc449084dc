// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DocFolders expands folders into folders for NewDocs. A folder with HTML directly in it, and a folder given as
// name=DIR, stand for themselves. Any other stands for its folders that have HTML somewhere below them, each a host
// named after its folder: /usr/share/doc becomes a host for each package with documents. The error names a folder that
// cannot be read or has no HTML.
func DocFolders(dirs ...string) ([]string, error) {
	var out []string
	for _, dir := range dirs {
		if strings.Contains(dir, "=") {
			out = append(out, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("folder of documents: %w", err)
		}
		if hasHTML(entries) {
			out = append(out, dir)
			continue
		}
		before := len(out)
		for _, e := range entries {
			sub := filepath.Join(dir, e.Name())
			found, err := htmlBelow(sub)
			if err != nil {
				return nil, fmt.Errorf("folder of documents %s: %w", sub, err)
			}
			if found {
				out = append(out, hostLabel(e.Name())+".example="+sub)
			}
		}
		if len(out) == before {
			return nil, fmt.Errorf("folder of documents %s: there is no HTML in it or in its folders", dir)
		}
	}
	return out, nil
}

func hasHTML(entries []fs.DirEntry) bool {
	for _, e := range entries {
		if !e.IsDir() && isHTMLName(e.Name()) {
			return true
		}
	}
	return false
}

func isHTMLName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm", ".xhtml":
		return true
	}
	return false
}

var errFound = errors.New("found")

// htmlBelow reports whether there is an HTML file in a folder or below it. A link to a folder elsewhere does not become
// a host.
func htmlBelow(dir string) (bool, error) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return false, err
	}
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && isHTMLName(e.Name()) {
			return errFound
		}
		return err
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}
