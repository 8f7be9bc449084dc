// SPDX-License-Identifier: Apache-2.0

package warc

import "fmt"

// openPart is what belongs together in the files of a Writer: see BeginPart. It is guarded by mu, and but for files and
// marker it changes only while nothing is appended.
type openPart struct {
	prefix string  // of the files that it begins
	next   int     // number of the next file of the prefix; negative: the directory tells
	info   []Field // beside WriterOptions.Info
	// marker is the warcinfo record that comes before the first record of the part; nil: none. If that record begins a
	// file, the file's own warcinfo record says the same.
	marker []byte
	open   bool       // between BeginPart and EndPart
	files  []FileInfo // that are full
	// The part in the current file: where it begins and the number of records before it.
	begun   bool
	start   int64
	records int64
}

// BeginPart begins a part: what is appended from now to EndPart. A part may begin in the middle of a file and go on in
// others. Before its first record, and at the beginning of every file into which it goes on, there is a warcinfo record
// with the fields of info after those of WriterOptions.Info. Files that the part begins have the prefix. Nobody may be
// appending, and no other part may be open.
//
// Nothing is written before the first record of the part. Errors: ErrClosed, and those of bad arguments and of earlier
// appends.
func (w *Writer) BeginPart(prefix string, info ...Field) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.stateLocked(); err != nil {
		return err
	}
	if w.part.open {
		return fmt.Errorf("BUG: warc: a part with prefix %q is begun within another", prefix)
	}
	if prefix == "" || !prefixOK(prefix) {
		return fmt.Errorf("beginning a part of a WARC file: bad prefix %q", prefix)
	}
	if err := checkBlockFields("warcinfo", "", info); err != nil {
		return err
	}
	next := -1
	if prefix == w.part.prefix {
		next = w.part.next
	}
	w.part = openPart{prefix: prefix, next: next, info: info, open: true}
	if w.cur != nil {
		w.part.marker = w.warcinfo(w.cur.info.Name, w.o.Now())
	}
	return nil
}

// EndPart ends the part and returns where it is, in order; nothing if nothing was appended. What was appended is on
// disk after the next Sync or Close. Nobody may be appending.
func (w *Writer) EndPart() []FileInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &w.part
	if p.begun && w.cur != nil {
		p.files = append(p.files, p.in(w.cur))
	}
	files := p.files
	w.part = openPart{prefix: p.prefix, next: p.next}
	return files
}

// in is the part of the current file.
func (p *openPart) in(c *current) FileInfo {
	return FileInfo{Name: c.info.Name, Size: c.info.Size - p.start, Records: c.info.Records - p.records, Start: p.start}
}

// beginPartLocked writes the marker before the first record of a part.
func (w *Writer) beginPartLocked(c *current) error {
	p := &w.part
	if p.begun || !p.open {
		return nil
	}
	marker := p.marker
	p.begun, p.start, p.records, p.marker = true, c.info.Size, c.info.Records, nil
	_, _, err := w.appendLocked(c, marker, 1)
	return err
}

// moveTo makes the part go on in a new file, which begins with what its marker would say.
func (p *openPart) moveTo(old, c *current) {
	if !p.open {
		return
	}
	if p.begun && old != nil {
		p.files = append(p.files, p.in(old))
	}
	p.begun, p.start, p.records, p.marker = true, 0, 0, nil
}

// NextFile makes the next exchange begin the next file.
func (w *Writer) NextFile() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cur != nil {
		w.cur.full = true
	}
}

// Held returns the names of the files that change or will: the current one, and those with records of the open part.
func (w *Writer) Held() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, f := range w.part.files {
		names = append(names, f.Name)
	}
	if w.cur != nil {
		names = append(names, w.cur.info.Name)
	}
	return names
}
