// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2"
	bleveQuery "github.com/blevesearch/bleve/v2/search/query"

	seine "github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	face "github.com/seine-crawler/seine/engine/web"
)

// served is what the process of a server says when it listens, and after each line that it reads.
type served struct {
	Address string
	CPU     time.Duration // user and system, since the line before
	Crawled uint64        // pages, after "crawl"
	Wall    time.Duration // of the crawl
	Error   string
}

// loadServe is the process of a server: seine|bleve DIR MEMORY [HOSTS], with seine's memory in MiB. It reads lines:
// "spent" for the processor time, "crawl SEEDS" to crawl a web beside what it serves, "profile FILE" to begin a profile
// that lasts until the end. It ends when its standard input does.
func loadServe(ctx context.Context, args []string) (err error) {
	if len(args) < 3 {
		return errors.New("want seine|bleve DIR MEMORY [HOSTS]")
	}
	memory, err := strconv.ParseInt(args[2], 10, 32)
	if err != nil {
		return fmt.Errorf("MEMORY: %w", err)
	}
	memory <<= 20
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	crawl := func(string) (uint64, error) { return 0, errors.New("only seine crawls") }
	debug.SetGCPercent(300) // as "seine serve" does; bleve gains from it, too
	if args[0] == "seine" {
		o := seine.Options{Dir: args[1], MustExist: true, Memory: memory, AllowPrivate: true, Delay: -1,
			PreferSearches: true} // as the seine command does
		if o.Scope = policy.ScopeAny; len(args) > 3 {
			if o.Hosts, err = fetch.LoadHosts(args[3]); err != nil {
				return err
			}
		}
		debug.SetMemoryLimit(memory) // as the seine command does
		e, err := seine.Open(o)
		if err != nil {
			return err
		}
		if len(args) == 3 { // no crawl comes
			if _, err := e.Index(ctx, seine.IndexOptions{MergeOnly: true}); err != nil { // as "seine serve" does in its first minutes
				return errors.Join(err, e.Close())
			}
		}
		s := face.Start(l, face.New(e, face.Options{}))
		defer func() { err = errors.Join(err, s.Close(), e.Close()) }()
		crawl = func(seeds string) (uint64, error) {
			r, err := e.Crawl(ctx, seine.CrawlOptions{Inject: seine.InjectOptions{Files: []string{seeds}}})
			return r.Fetched, err
		}
	} else {
		x, err := bleve.Open(args[1])
		if err != nil {
			return err
		}
		s := http.Server{Handler: bleveHandler(x)}
		go s.Serve(l)
		defer func() { err = errors.Join(err, s.Close(), x.Close()) }()
	}
	out, before := json.NewEncoder(os.Stdout), ownCPU()
	if err := out.Encode(served{Address: l.Addr().String()}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		command, argument, _ := strings.Cut(lines.Text(), " ")
		s, start := served{}, time.Now()
		switch command {
		case "profile":
			f, err := os.Create(argument)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		case "crawl":
			if s.Crawled, err = crawl(argument); err != nil {
				s.Error = err.Error()
			}
			s.Wall = time.Since(start)
		}
		now := ownCPU()
		s.CPU, before = now-before, now
		if err := out.Encode(s); err != nil {
			return err
		}
	}
	return nil
}

// bleveHandler answers the log as a program on net/http would that shows a page of hits: title, host, a passage with
// marks, and the number of all matches.
func bleveHandler(x bleve.Index) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		v := r.URL.Query()
		from, _ := strconv.Atoi(v.Get("offset"))
		q := bleveLoadQuery(v.Get("q"), v.Get("kind"), v.Get("filter"))
		request := bleve.NewSearchRequestOptions(q, 10, from, false)
		request.Fields = []string{"title", "host"}
		request.Highlight = bleve.NewHighlightWithStyle("html")
		request.Highlight.AddField("text")
		result, err := x.SearchInContext(r.Context(), request)
		if err == nil && result.Status.Failed > 0 {
			err = fmt.Errorf("parts of the index failed: %v", result.Status.Errors)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		type hit struct {
			URL      string         `json:"url"`
			Score    float64        `json:"score"`
			Fields   map[string]any `json:"fields"`
			Passages []string       `json:"passages"`
		}
		answer := struct {
			Total uint64 `json:"total"`
			Hits  []hit  `json:"hits"`
		}{Total: result.Total}
		for _, h := range result.Hits {
			answer.Hits = append(answer.Hits, hit{h.ID, h.Score, h.Fields, h.Fragments["text"]})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the client is gone if it fails
	})
	return mux
}

// bleveLoadQuery is a query of a log in bleve's terms.
func bleveLoadQuery(words, kind, filter string) bleveQuery.Query {
	any := func(match func(field string) bleveQuery.Query) bleveQuery.Query {
		return bleve.NewDisjunctionQuery(match("title"), match("text"))
	}
	q := any(func(field string) bleveQuery.Query {
		if kind == "phrase" {
			m := bleve.NewMatchPhraseQuery(words)
			m.SetField(field)
			return m
		}
		m := bleve.NewMatchQuery(words)
		m.SetField(field)
		return m
	})
	if filter == "" {
		return q
	}
	name, value, _ := strings.Cut(filter, ":")
	term := bleve.NewTermQuery(value)
	if term.SetField("host"); name == "date" {
		term.SetField("year")
	}
	return bleve.NewConjunctionQuery(q, term)
}

// server is a running loadServe.
type server struct {
	address string
	cmd     *exec.Cmd
	stdin   interface {
		Write([]byte) (int, error)
		Close() error
	}
	out *json.Decoder
	log *os.File
}

func startServer(d folders, o loadOptions, name, dir string, hosts ...string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := append([]string{"load-serve", name, dir, strconv.Itoa(o.memory)}, hosts...)
	s := &server{cmd: exec.Command(self, command...)}
	s.cmd.SysProcAttr = ownGroup()
	if s.log, err = os.Create(filepath.Join(d.out, "load-"+name+".log")); err != nil {
		return nil, err
	}
	s.cmd.Stderr = s.log
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	s.out = json.NewDecoder(stdout)
	var ready served
	if err := s.out.Decode(&ready); err != nil {
		err = errors.Join(err, s.stop())
		return nil, fmt.Errorf("starting the server of %s: %w: %s", name, err, tail(s.log.Name()))
	}
	s.address = ready.Address
	return s, nil
}

// tell writes a line and waits for the answer.
func (s *server) tell(line string) (r served, err error) {
	if _, err := s.stdin.Write([]byte(line + "\n")); err != nil {
		return r, err
	}
	if err := s.out.Decode(&r); err != nil {
		return r, fmt.Errorf("%s: %w: %s", line, err, tail(s.log.Name()))
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// answers are the answers that a server kept of earlier ones, and those that it made. bleve counts neither.
func (s *server) answers() (kept, made float64, err error) {
	r, err := http.Get("http://" + s.address + "/metrics")
	if err != nil {
		return 0, 0, err
	}
	defer r.Body.Close()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case `seine_http_search_answers_total{from="kept"}`:
			kept = n
		case `seine_http_search_answers_total{from="made"}`:
			made = n
		}
	}
	return kept, made, nil
}

// stop ends the server; one that does not end within half a minute is killed.
func (s *server) stop() error {
	killer := time.AfterFunc(30*time.Second, func() { syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	defer killer.Stop()
	return errors.Join(s.stdin.Close(), s.cmd.Wait(), s.log.Close())
}
