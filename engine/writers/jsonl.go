// SPDX-License-Identifier: Apache-2.0

package writers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seine-crawler/seine/engine/policy"
)

// JSONLines appends changes to a file, one JSON object a line. For each id the line with the highest version counts. A
// file that was moved away is begun anew, with what changes from then on. Make it with Parse.
type JSONLines struct {
	name, path string
}

func newJSONLines(path string) (*JSONLines, error) {
	if path == "" || path == "-" {
		return nil, errors.New("name a file; \"seine export --format jsonl\" prints all documents")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is a folder, a device or a pipe: name a file", path)
	}
	return &JSONLines{name: "jsonl=" + path, path: path}, nil
}

// Name is the file's absolute path.
func (w *JSONLines) Name() string { return w.name }

// lineBegin is how each line begins: see fields.
const lineBegin = `{"id":"`

// checkRest returns an error if what follows the last line feed of a file, at end, is not what a write that was cut off
// may have left: then the file is another's, and nothing of it may be removed. A crash of the system may leave zeros.
func checkRest(f *os.File, end int64) error {
	rest := make([]byte, len(lineBegin))
	n, err := f.ReadAt(rest, end)
	if err != nil && err != io.EOF {
		return err
	}
	if rest = rest[:n]; n > 0 && rest[0] != 0 && string(rest) != lineBegin[:n] {
		return fmt.Errorf("%s ends with a line of another program that has no line feed: name another file", f.Name())
	}
	return nil
}

// Write appends changes and syncs the file and its directory: a file that is there may be one whose name an earlier
// write could not make durable. What a write that was cut off left of its last line is removed first.
func (w *JSONLines) Write(_ context.Context, changes []policy.IndexChange) (_ []policy.IndexRefusal, err error) {
	f, err := os.OpenFile(w.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := wholeLines(f)
	if err == nil {
		err = checkRest(f, end)
	}
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(end); err != nil {
		return nil, err
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		return nil, err
	}
	var text []byte
	for i := range changes {
		text = append(AppendJSON(text[:0], &changes[i]), '\n')
		if _, err := f.Write(text); err != nil {
			return nil, errors.Join(err, f.Truncate(end))
		}
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	return nil, syncDir(filepath.Dir(w.path))
}

// syncDir makes the names of a directory durable. Who may write into a directory but not read it cannot.
func syncDir(name string) error {
	dir, err := os.Open(name)
	if errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Commit does nothing: each write is synced.
func (w *JSONLines) Commit(context.Context) error { return nil }

// wholeLines is the size of a file up to its last line feed.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is no regular file", f.Name())
	}
	end := info.Size()
	buf := make([]byte, 64<<10)
	for end > 0 {
		from := max(end-int64(len(buf)), 0)
		part := buf[:end-from]
		if _, err := f.ReadAt(part, from); err != nil {
			return 0, err
		}
		if at := bytes.LastIndexByte(part, '\n'); at >= 0 {
			return from + int64(at) + 1, nil
		}
		end = from
	}
	return 0, nil
}
