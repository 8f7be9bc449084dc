// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/web"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// programLog is the log of a command: the file of the setting log, or stderr in the format of log-format. A nil
// programLog drops everything.
type programLog struct {
	*slog.Logger
	file *logFile // nil: it is stderr
	json bool
}

// logFile is a file that lines are added to. Not safe for concurrent use: a slog.Handler writes one record at a time.
type logFile struct {
	path string
	file *os.File
}

// open opens the file, and creates it and its folder if they do not exist.
func (l *logFile) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err == nil {
		l.file = file
	}
	return err
}

// Write adds a line. If somebody renamed or removed the file, as logrotate does, the line begins a new one, or, where
// none can be opened, goes to the old one.
func (l *logFile) Write(line []byte) (int, error) {
	is, err := l.file.Stat()
	if err != nil {
		return 0, err
	}
	if at, err := os.Stat(l.path); err != nil || !os.SameFile(at, is) {
		if old := l.file; l.open() == nil {
			old.Close() // each record was written when it was logged
		}
	}
	return l.file.Write(line)
}

// logs are the files that the settings name for lines of a crawl and of the program.
func (f *flags) logs() (list []web.Log) {
	for _, name := range []string{"crawl-log", "log"} {
		if path := f.text(name); path != "" {
			list = append(list, web.Log{Name: name, Path: path})
		}
	}
	return list
}

// served says what a server of the command shows and tells.
func (f *flags) served() web.Options { return web.Options{Logs: f.logs(), Failed: f.warn} }

// openLog opens the log that the settings name; nil: none.
func (f *flags) openLog(cmd *cobra.Command) (*programLog, error) {
	name, format := f.text("log"), f.text("log-format")
	if name == "" && format == "" {
		return nil, nil
	}
	var l programLog
	var to io.Writer = cmd.ErrOrStderr()
	if name != "" {
		l.file = &logFile{path: name}
		if err := l.file.open(); err != nil {
			return nil, f.fault("log", fileError(name, err))
		}
		to = l.file
	}
	var o slog.HandlerOptions
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.text("log-level"))); err != nil {
		return nil, f.fault("log-level", err)
	}
	o.Level = level
	var h slog.Handler = slog.NewTextHandler(to, &o)
	if l.json = format == "json"; l.json {
		h = slog.NewJSONHandler(to, &o)
	}
	l.Logger = slog.New(h)
	l.Info("begins", "command", strings.Join(pathBelowRoot(cmd), " "), "dir", f.text(settingDir),
		"version", engine.Version, "pid", os.Getpid())
	return &l, nil
}

// end logs how a command ended, and closes the file.
func (l *programLog) end(err error) {
	switch {
	case l == nil:
		return
	case err != nil:
		l.Error(oneLine(err))
	default:
		l.Info("ends")
	}
	if l.file != nil {
		l.file.file.Close() // each record was written when it was logged
	}
}

// beside reports whether messages go to stderr as people read them, too.
func (l *programLog) beside() bool { return l.file != nil }

// events returns a listener that logs, and calls people's where messages go to them, too.
func (l *programLog) events(people engine.EventListener) engine.EventListener {
	if l == nil {
		return people
	}
	both := people
	both.Warning = func(err error) {
		l.Warn(oneLine(err))
		if l.beside() {
			people.Warning(err)
		}
	}
	both.HostAsleep = func(host urlkey.HostKey, until time.Time, why engine.Cause) {
		attrs := []slog.Attr{slog.String("host", host.String()), slog.String("why", plainLine(why.String()))}
		if !until.IsZero() {
			attrs = append(attrs, slog.Time("until", until))
		}
		l.LogAttrs(context.Background(), slog.LevelInfo, "host is left alone", attrs...)
		if l.beside() {
			people.HostAsleep(host, until, why)
		}
	}
	both.SegmentState = func(segment uint32, state storage.SegmentState) {
		l.Debug("segment", "segment", segment, "state", state.String())
	}
	both.PhaseDone = func(r engine.Report) {
		phase, _, _ := strings.Cut(r.String(), ":")
		attrs := []slog.Attr{slog.String("phase", phase)}
		if l.json { // in text the message has it all
			attrs = append(attrs, slog.Any("report", r))
		}
		l.LogAttrs(context.Background(), slog.LevelInfo, plainLine(r.String()), attrs...)
	}
	return both
}

// checkLogFile returns an error if a name, "" aside, cannot be that of a file to which lines are added.
func checkLogFile(name string) error {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is no file that lines can be added to", name)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("a part of %s is a file", name)
	}
	return nil
}
