// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"
)

// screen is stderr. On a terminal it keeps a drawing at its end, above which lines that others write scroll by. Any
// goroutine may use it.
type screen struct {
	w    io.Writer
	file *os.File // the terminal; nil: stderr is none, or one that cannot draw

	mu    sync.Mutex
	lines []string // the drawing; nil: there is none

	undo atomic.Pointer[func()] // ends raw mode; nil: the terminal is not in it

	viewing atomic.Bool // what is drawn is the work of another process, which a signal does not end
}

func newScreen(w io.Writer) *screen {
	s := &screen{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && canDraw(os.Getenv("TERM")) {
		s.file = f
	}
	return s
}

// canDraw reports whether a terminal of a kind, as TERM names it, can move its cursor.
func canDraw(kind string) bool { return kind != "" && kind != "dumb" }

func (s *screen) isTerminal() bool { return s.file != nil }

// size is that of the terminal, which may change; 0, 0 if it is not known.
func (s *screen) size() (width, height int) {
	if s.file == nil {
		return 0, 0
	}
	width, height, err := term.GetSize(int(s.file.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// Write writes whole lines, above the drawing.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.undo.Load() != nil {
		p = bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	if len(s.lines) == 0 {
		return s.w.Write(p)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", len(s.lines))
	b.Write(p)
	b.WriteString(drawing(s.lines))
	_, err := s.w.Write(b.Bytes())
	return len(p), err
}

// draw replaces the drawing, in one write to avoid flicker.
func (s *screen) draw(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	up := ""
	if n := len(s.lines); n > 0 {
		up = fmt.Sprintf("\x1b[%dA\r\x1b[J", n)
	}
	s.lines = lines
	io.WriteString(s.w, up+drawing(lines))
}

// drawing is the text of lines for a terminal that may be in raw mode.
func drawing(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\x1b[K\r\n") + "\x1b[K\r\n"
}

// leave makes the drawing part of what scrolls by, and ends raw mode. It must be called before the process ends in any
// way; calling it again does nothing.
func (s *screen) leave() {
	s.mu.Lock()
	s.lines = nil
	s.mu.Unlock()
	s.restore()
}

// restore ends raw mode. Unlike leave it waits for nobody: a write lasts for as long as the terminal takes nothing.
func (s *screen) restore() {
	if undo := s.undo.Swap(nil); undo != nil {
		(*undo)()
	}
}

// viewing says that a signal ends nothing but a view.
func viewing(w io.Writer) bool {
	s, ok := w.(*screen)
	return ok && s.viewing.Load()
}

// restore is screen.restore for a writer that may be one.
func restore(w io.Writer) {
	if s, ok := w.(*screen); ok {
		s.restore()
	}
}

// leave is screen.leave for a writer that may be one.
func leave(w io.Writer) {
	if s, ok := w.(*screen); ok {
		s.leave()
	}
}
