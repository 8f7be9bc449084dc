// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Search engines are programs of their own languages with one protocol:
//
//	PROGRAM build DIR <documents    lines of ID tab TITLE tab TEXT; the index is durable when the program ends
//	PROGRAM search DIR <queries     lines of MODE tab K tab QUERY
//
// The answer to a query is a line of µs tab TOTAL tab ID ID …, best first. The time is from the text of the query to the
// best documents, by the engine's own numbers where it has such: identifiers in tantivy's and Lucene's columns are read
// after it, while seine and bleve know documents by nothing else. MODE is exact (TOTAL counts all matches), pruned (only the best K count; TOTAL is -1), or
// typed (exact; the query is what a person typed). Other queries have the syntax that all read: "a b" in quotes is a
// phrase, +a +b both words, a b either word. An engine of one field indexes TITLE and TEXT together, TEXT alone if it
// begins with TITLE.
type program struct {
	name, remark string
	command      func(d folders, args ...string) (*exec.Cmd, error) // the error says why it is not available
	prunes       bool                                               // it knows the mode pruned
}

// tantivyName is the engine that others' figures are ratios to.
const tantivyName = "tantivy"

// programs are the engines, in the order of the tables.
var programs = []program{
	{
		name: "seine", remark: "title and text are two fields; the URL is a third; one goroutine builds",
		command: ownProgram("seine"), prunes: true,
	},
	{
		name: tantivyName, remark: "one field; one indexing thread, and one that merges", prunes: true,
		command: func(d folders, args ...string) (*exec.Cmd, error) {
			return installedAt(filepath.Join(d.out, "tantivy", "release", "tantivy-peer"), args...)
		},
	},
	{
		name: "lucene", remark: "one field; one indexing thread, and those that merge; JIT compiled", prunes: true,
		command: func(d folders, args ...string) (*exec.Cmd, error) {
			classes, jars := filepath.Join(d.out, "lucene", "classes"), filepath.Join(d.out, "lucene", "jars", "*")
			if _, err := os.Stat(filepath.Join(classes, "Lucene.class")); err != nil {
				return nil, err
			}
			if _, err := exec.LookPath("java"); err != nil {
				return nil, err
			}
			java := []string{"-Xmx2g", "--add-modules", "jdk.incubator.vector", "-cp", classes + ":" + jars, "Lucene"}
			return exec.Command("java", append(java, args...)...), nil
		},
	},
	{name: "bleve", remark: "one field; several goroutines build", command: ownProgram("bleve")},
}

// ownProgram runs this binary as an engine written in Go.
func ownProgram(name string) func(folders, ...string) (*exec.Cmd, error) {
	return func(_ folders, args ...string) (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return exec.Command(self, append([]string{"program", name}, args...)...), nil
	}
}

func installedAt(path string, args ...string) (*exec.Cmd, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return exec.Command(path, args...), nil
}

// choosePrograms returns the engines of a comma-separated list that are available, all if it is empty. It says on stderr
// which are not. An engine of the list that is not available is an error.
func choosePrograms(d folders, list string) (chosen []program, err error) {
	wanted := map[string]bool{}
	for _, name := range split(list) {
		wanted[name] = true
	}
	for _, p := range programs {
		if list != "" && !wanted[p.name] {
			continue
		}
		delete(wanted, p.name)
		_, err := p.command(d)
		switch {
		case err == nil:
			chosen = append(chosen, p)
		case list != "":
			return nil, fmt.Errorf("%s is not available; install.sh says why: %w", p.name, err)
		default:
			fmt.Fprintf(os.Stderr, "peers: without %s, which is not installed: %v\n", p.name, err)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("no engine %q", name)
	}
	return chosen, nil
}

// buildWith builds an index of a file of documents.
func buildWith(ctx context.Context, d folders, p program, dir, documents string) (used, error) {
	cmd, err := p.command(d, "build", dir)
	if err != nil {
		return used{}, err
	}
	in, err := os.Open(documents)
	if err != nil {
		return used{}, err
	}
	defer in.Close()
	cmd.Stdin = in
	u, err := runProcess(ctx, cmd, filepath.Join(d.out, "build-"+p.name+".log"))
	if err != nil {
		return u, fmt.Errorf("building with %s: %w", p.name, err)
	}
	return u, nil
}

// answer is a program's answer to a query.
type answer struct {
	took  time.Duration
	total int // -1: not counted
	ids   []string
}

// searching is a running program that searches one index.
type searching struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	log  *os.File
	stop func() bool // the killing of the program when the context ends
}

// searchWith starts a program. Close it.
func searchWith(ctx context.Context, d folders, p program, dir string) (s *searching, err error) {
	cmd, err := p.command(d, "search", dir)
	if err != nil {
		return nil, err
	}
	s = &searching{name: p.name, cmd: cmd}
	if s.log, err = os.Create(filepath.Join(d.out, "search-"+p.name+".log")); err != nil {
		return nil, err
	}
	cmd.Stderr, cmd.SysProcAttr = s.log, ownGroup()
	if s.in, err = cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, s.log.Close())
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.in.Close(), s.log.Close())
	}
	s.out = bufio.NewReaderSize(out, 1<<20)
	s.stop = context.AfterFunc(ctx, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	return s, nil
}

// ask sends a query and waits for the answer.
func (s *searching) ask(mode string, k int, query string) (a answer, err error) {
	query = strings.Join(strings.Fields(query), " ")
	if _, err := fmt.Fprintf(s.in, "%s\t%d\t%s\n", mode, k, query); err != nil {
		return a, fmt.Errorf("%s does not listen: %w: %s", s.name, err, tail(s.log.Name()))
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return a, fmt.Errorf("%s did not answer %q: %w: %s", s.name, query, err, tail(s.log.Name()))
	}
	f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(f) != 3 {
		return a, fmt.Errorf("%s answered %q: want three fields", s.name, line)
	}
	µs, err1 := strconv.ParseFloat(f[0], 64)
	total, err2 := strconv.Atoi(f[1])
	if err := errors.Join(err1, err2); err != nil {
		return a, fmt.Errorf("%s answered %q: %w", s.name, line, err)
	}
	return answer{time.Duration(µs * 1000), total, strings.Fields(f[2])}, nil
}

// close ends the program and waits for it.
func (s *searching) close() error {
	defer s.stop()
	return errors.Join(s.in.Close(), s.cmd.Wait(), s.log.Close())
}
