// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Replay makes cases of recorded responses. dir holds responses.tar.gz, with a raw response a file, and manifest.tsv,
// with a line for each: file, category, verdict, id, bytes, whether the server closed the connection after it (1: yes),
// and what is odd about it, separated by tabs. A response with the verdict mustbe_valid must be read as one. One that
// is invalid may fail or be read, but its connection must not be used again, so that what follows it is never taken for
// the response to another request. Any other may be either. The error names the file that could not be read.
func Replay(dir string) ([]Case, error) {
	bodies, err := readResponses(filepath.Join(dir, "responses.tar.gz"))
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, "manifest.tsv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Case
	s := bufio.NewScanner(f)
	for s.Scan() {
		fields := strings.Split(s.Text(), "\t")
		if len(fields) < 7 || fields[0] == "file" {
			continue
		}
		raw, found := bodies[fields[0]]
		if !found {
			return nil, fmt.Errorf("%s: there is no response %s", f.Name(), fields[0])
		}
		c := Case{
			Number: 200, Name: "replay-" + strings.TrimSuffix(fields[0], ".http"), Group: "replay",
			Does:  fields[1] + ": " + fields[6],
			serve: keeps(raw),
		}
		if fields[5] == "1" {
			c.serve = says(raw)
		}
		switch fields[2] {
		case "mustbe_valid":
			c.Want.Results = []string{"200"}
		case "invalid":
			c.Want.Closed = true
		}
		c.Want.Within, c.Want.Requests = "total", 1
		out = append(out, c)
	}
	return out, s.Err()
}

func readResponses(name string) (map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	out := map[string]string{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[filepath.Base(h.Name)] = string(b)
	}
}
