// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// LiveFilter is a URLFilter whose answer for a URL may change while a crawl runs. Between two changes it obeys the
// law of URLFilter.
//
// Accept, Explain and Fingerprint may be called from any goroutine, also during Refresh.
type LiveFilter interface {
	URLFilter
	Explainer
	// Refresh looks whether the rules have changed, puts the new ones in force and reports that it did. After an
	// error the old rules stay in force; the error is not returned again until the rules change again. One
	// goroutine at a time may call it.
	Refresh() (changed bool, err error)
	// Fingerprint identifies the rules in force: the same rules have the same fingerprint in every process.
	Fingerprint() uint64
}

// Explainer is a URLFilter that names the entry or rule that decides about a URL, for people. It returns "" if there
// is none. Any goroutine may call it.
type Explainer interface {
	Explain(u urlkey.URL) (rule string)
}

// HostFilter is a URLFilter that decides by the host alone.
//
// Law: AcceptHost(u.HostKey()) is Accept(u) for every URL. Any goroutine may call it.
type HostFilter interface {
	AcceptHost(h urlkey.HostKey) (reason string)
}

const (
	// modTimeGrain is the coarsest step of modification times on file systems in use: 2 s, on FAT. A file that is
	// written twice within it may keep its modification time and size.
	modTimeGrain = 2 * time.Second

	// maxWatchedFile is the largest file that WatchFile reads, in bytes. A longer one is an error.
	maxWatchedFile = 1 << 30
)

// WatchedFilter is a LiveFilter whose rules are in a file, which people may edit while a crawl runs. Make one with
// WatchFile.
type WatchedFilter struct {
	path, what string
	parse      func(text []byte) (URLFilter, error)
	now        atomic.Pointer[inForce]

	// Of the file as it was last read. Only Refresh uses them.
	seen    fs.FileInfo
	settled bool   // another write would change the modification time, the size or the file's identity
	text    uint64 // fingerprint of what was read, valid or not
	failed  bool   // it could not be read, and that was reported
}

// inForce is one version of the rules.
type inForce struct {
	URLFilter
	explainer   Explainer  // nil if the filter is none
	host        HostFilter // likewise
	fingerprint uint64
}

// WatchFile reads a file of rules. parse makes a filter of the file's text, for example ParseRules; what it returns
// must not change afterwards. what says for people what is in the file, for example "URL rules"; it is part of the
// fingerprint, so two lists of the same hosts, one denied and one allowed, differ.
//
// The error names what, the file, and what parse found wrong. A file that is not regular, such as a pipe, is read
// this once only.
func WatchFile[F URLFilter](path, what string, parse func(text []byte) (F, error)) (*WatchedFilter, error) {
	w := &WatchedFilter{
		path:  path,
		what:  what,
		parse: func(text []byte) (URLFilter, error) { return parse(text) },
	}
	at := time.Now()
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	if _, err := w.read(info, at); err != nil {
		return nil, err
	}
	return w, nil
}

// String names the rules and their file: "URL rules urls.txt".
func (w *WatchedFilter) String() string { return w.what + " " + w.path }

// Accept refuses with the reason of the rules in force.
func (w *WatchedFilter) Accept(u urlkey.URL) string { return w.now.Load().Accept(u) }

// AcceptHost refuses a host with the reason of the rules in force. It returns "" if they do not decide by host alone.
func (w *WatchedFilter) AcceptHost(h urlkey.HostKey) string {
	if f := w.now.Load().host; f != nil {
		return f.AcceptHost(h)
	}
	return ""
}

// Explain returns the file's name and the entry or rule that decides: "urls.txt: line 12: -\.gif$". It returns ""
// if there is none, or if the rules in force are no Explainer.
func (w *WatchedFilter) Explain(u urlkey.URL) string {
	f := w.now.Load().explainer
	if f == nil {
		return ""
	}
	rule := f.Explain(u)
	if rule == "" {
		return ""
	}
	return w.path + ": " + rule
}

// Fingerprint is a hash of the text in force and of the what that WatchFile was given.
func (w *WatchedFilter) Fingerprint() uint64 { return w.now.Load().fingerprint }

// Refresh reads the file again if it may have changed, and reports whether new rules are in force. A missing file is
// no change: editors replace files. The error names the file and what is wrong with it.
func (w *WatchedFilter) Refresh() (changed bool, err error) {
	at := time.Now()
	info, err := os.Stat(w.path)
	if err != nil || !info.Mode().IsRegular() || w.settled && w.sameStamp(info) {
		return false, nil
	}
	return w.read(info, at)
}

func (w *WatchedFilter) sameStamp(info fs.FileInfo) bool {
	return w.seen != nil && info.ModTime().Equal(w.seen.ModTime()) && info.Size() == w.seen.Size() &&
		os.SameFile(info, w.seen)
}

// read reads the file and puts its rules in force if its text is new. info is from after the time at.
//
// The modification time proves that the file is unchanged only if a write after at would have set another one. Until
// then every Refresh compares the text.
func (w *WatchedFilter) read(info fs.FileInfo, at time.Time) (changed bool, err error) {
	known := w.failed && w.sameStamp(info)
	w.seen = info
	w.settled = at.Sub(info.ModTime()) > modTimeGrain
	text, err := readBounded(w.path, info)
	if w.failed = err != nil; w.failed {
		w.settled = false // permissions may change without a new modification time
		if known {
			return false, nil
		}
		return false, fmt.Errorf("reading %s: %w", w, err)
	}
	fingerprint := xxh3.HashSeed(text, xxh3.HashString(w.what))
	if fingerprint == w.text && w.now.Load() != nil {
		return false, nil
	}
	w.text = fingerprint
	if old := w.now.Load(); old != nil && old.fingerprint == fingerprint {
		return false, nil // a broken version was taken back
	}
	f, err := w.parse(text)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", w, err)
	}
	next := &inForce{URLFilter: f, fingerprint: fingerprint}
	next.explainer, _ = f.(Explainer)
	next.host, _ = f.(HostFilter)
	w.now.Store(next)
	return true, nil
}

func readBounded(path string, info fs.FileInfo) ([]byte, error) {
	errLong := fmt.Errorf("longer than %d bytes", maxWatchedFile)
	if info.Size() > maxWatchedFile {
		return nil, errLong
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	text.Grow(int(info.Size()) + bytes.MinRead)
	n, err := text.ReadFrom(io.LimitReader(f, maxWatchedFile+1))
	if err != nil {
		return nil, err
	}
	if n > maxWatchedFile {
		return nil, errLong
	}
	return text.Bytes(), nil
}
