// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// output is a file that a command writes, and the flag that names it.
type output struct{ flag, name string }

// place is where an output comes to lie. info is nil while there is nothing.
type place struct {
	path string // without symbolic links
	info fs.FileInfo
}

// place finds where an output comes to lie. The path of a pipe or device is as it was given: what is behind a link of
// /dev/fd need not have one.
func (o output) place() (place, error) {
	info, err := os.Stat(o.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		folder, err := filepath.EvalSymlinks(filepath.Dir(o.name))
		if err == nil {
			folder, err = filepath.Abs(folder)
		}
		return place{path: filepath.Join(folder, filepath.Base(o.name))}, err
	case err != nil:
		return place{}, err
	case info.IsDir():
		return place{}, fmt.Errorf("%s is a folder, not a file", o.name)
	case !info.Mode().IsRegular():
		return place{o.name, info}, nil
	}
	path, err := filepath.EvalSymlinks(o.name)
	return place{path, info}, err
}

// same reports whether two outputs would overwrite each other. Devices and pipes take any number.
func (p place) same(q place) bool {
	if p.info == nil || q.info == nil {
		return p.path == q.path
	}
	return p.info.Mode().IsRegular() && os.SameFile(p.info, q.info)
}

// checkOutputs returns an error for outputs that would overwrite each other, or what else the command reads and writes:
// names of files, and streams.
func checkOutputs(list []output, others ...any) error {
	var places []place
	for _, o := range list {
		p, err := o.place()
		if err != nil {
			return &usageError{fmt.Errorf("--%s: %w", o.flag, err)}
		}
		for j, q := range places {
			if p.same(q) {
				return &usageError{fmt.Errorf("--%s %s: --%s names the same file", o.flag, o.name, list[j].flag)}
			}
		}
		for _, other := range others {
			if info := infoOf(other); info != nil && p.info != nil && p.same(place{info: info}) {
				return &usageError{fmt.Errorf("--%s %s: it would replace what the command reads or prints to: "+
					"name another file", o.flag, o.name)}
			}
		}
		places = append(places, p)
	}
	return nil
}

// infoOf describes a file by its name, or a stream that is a file; nil: it is none.
func infoOf(other any) fs.FileInfo {
	var info fs.FileInfo
	var err error
	switch other := other.(type) {
	case string:
		info, err = os.Stat(other)
	case interface{ Stat() (fs.FileInfo, error) }: // a file of the system, or what is around one
		info, err = other.Stat()
	}
	if err != nil {
		return nil
	}
	return info
}

// intoFiles calls fn with a writer for each output. What was written replaces the files if fn returns no error; else
// they stay as they were.
func intoFiles(list []output, fn func(w []io.Writer) error) (err error) {
	var files []*replacement
	defer func() {
		for _, r := range files {
			r.drop()
		}
	}()
	var writers []io.Writer
	for _, o := range list {
		r, err := replace(o)
		if err != nil {
			return fmt.Errorf("--%s: %w", o.flag, err)
		}
		files, writers = append(files, r), append(writers, r.File)
	}
	if err := fn(writers); err != nil {
		return err
	}
	var errs []error
	for _, r := range files {
		errs = append(errs, r.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, r := range files {
		if err := r.put(); err != nil {
			return err
		}
	}
	return nil
}

// replacement is what will replace a file: a temporary file beside it. Where there is a device or a pipe, it is that.
type replacement struct {
	*os.File
	path string // "": nothing is left to rename
}

func replace(o output) (*replacement, error) {
	p, err := o.place()
	if err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o666)
	if p.info != nil {
		if !p.info.Mode().IsRegular() {
			file, err := os.OpenFile(o.name, os.O_WRONLY, 0)
			return &replacement{File: file}, err
		}
		mode = p.info.Mode().Perm()
	}
	file, err := createBeside(p.path, mode)
	if err != nil {
		return nil, err
	}
	r := &replacement{file, p.path}
	if p.info != nil {
		err = file.Chmod(mode) // without what the umask takes away
	}
	if err != nil {
		r.drop()
		return nil, err
	}
	return r, nil
}

// besideTries is the number of names that createBeside tries.
const besideTries = 1000

// createBeside creates a temporary file beside another. The name is nobody else's: a file that happens to have it may
// be an input, or what a command left that was killed. In a container each has the same process number.
func createBeside(path string, mode fs.FileMode) (file *os.File, err error) {
	for n := range besideTries {
		name := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
		if n > 0 {
			name = fmt.Sprintf("%s.%d.%d.tmp", path, os.Getpid(), n)
		}
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return file, err
}

// put makes it the file.
func (r *replacement) put() error {
	if r.path == "" {
		return nil
	}
	err := os.Rename(r.Name(), r.path)
	if err == nil {
		r.path = ""
	}
	return err
}

// drop removes it, unless it is the file by now.
func (r *replacement) drop() {
	r.Close() // for the second time, if all went well
	if r.path != "" {
		os.Remove(r.Name())
	}
}
