// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"time"
)

// Log is a file of lines that grows at its end, such as a crawl log.
type Log struct {
	Name string // what it is, in a word
	Path string // of the file, which need not exist
}

// Bounds of what is shown of a log.
const (
	logBytes = 64 << 10 // from its end
	logLines = 100
	lineMost = 600 // characters
)

// logView is the end of a log, newest line first.
type logView struct {
	Logs  []choice
	Path  string // "": no log is written
	Lines []logLine
}

// logLine is a line: that of a crawl log in JSON has parts, of another there is Text.
type logLine struct {
	Text      string    `json:"-"`
	Time      time.Time `json:"time"`
	URL       string    `json:"url"`
	Status    int       `json:"http_status"`
	Failure   string    `json:"failure"`
	Bytes     uint64    `json:"bytes"`
	Took      int64     `json:"took_ms"`
	HopPath   string    `json:"hop_path"`
	Via       string    `json:"via"`
	MediaType string    `json:"media_type"`
}

// Span is the time that the fetch took.
func (l *logLine) Span() string { return tookText(time.Duration(l.Took) * time.Millisecond) }

// logPage shows the end of a log: GET /log?name=….
func (h *Handler) logPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "crawl", Title: "Log", base: h.o.Prefix, Scripts: []string{"live.js"}}
	v := &logView{}
	at := max(slices.IndexFunc(h.o.Logs, func(l Log) bool { return l.Name == r.URL.Query().Get("name") }), 0)
	for i, l := range h.o.Logs {
		v.Logs = append(v.Logs, choice{l.Name, p.Path("/log", "name", l.Name), i == at})
	}
	if len(h.o.Logs) > 0 {
		v.Path = h.o.Logs[at].Path
		lines, err := lastLines(v.Path)
		if err != nil && !os.IsNotExist(err) {
			h.failed(w, r, p.Room, err)
			return
		}
		for _, line := range lines {
			v.Lines = append(v.Lines, readLine(line))
		}
	}
	p.Body = v
	h.show(w, http.StatusOK, "log", p)
}

// readLine makes what is shown of a line.
func readLine(line []byte) logLine {
	var l logLine
	if err := json.Unmarshal(line, &l); err != nil || l.URL == "" {
		return logLine{Text: clean(string(line), lineMost)}
	}
	return l
}

// lastLines returns the last lines of a file, newest first.
func lastLines(name string) (lines [][]byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	from := max(size-logBytes, 0)
	all, err := io.ReadAll(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return nil, err
	}
	if from > 0 { // the first line is a part of one
		_, all, _ = bytes.Cut(all, []byte("\n"))
	}
	for line := range bytes.Lines(all) {
		if bytes.HasSuffix(line, []byte("\n")) { // else it is being written
			lines = append(lines, bytes.TrimSpace(line))
		}
	}
	slices.Reverse(lines)
	return lines[:min(len(lines), logLines)], nil
}
