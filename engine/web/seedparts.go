// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime/multipart"

	"github.com/seine-crawler/seine/engine"
)

// seedParts are the seeds of a request of several files: the parts of a multipart body. The first, of the name urls,
// has those that stand alone; each other part is a file. The parameter file names them, so that messages can quote
// lines of them. A part more than it names is an error: nobody would miss its seeds.
//
// Parts are read when the engine comes to them: none is held in memory.
type seedParts struct {
	body  io.Reader
	r     *multipart.Reader
	part  *multipart.Part
	index int // of the part that is read now
}

// newSeedParts reads a multipart body, whose boundary the parameters of its media type have.
func newSeedParts(body io.Reader, params map[string]string) *seedParts {
	return &seedParts{body: body, r: multipart.NewReader(body, params["boundary"])}
}

// urlsPart is the name of the part with seeds that stand alone.
const urlsPart = "urls"

// options adds the seeds to the options of an injection.
func (s *seedParts) options(o *engine.InjectOptions, files []string) error {
	if err := s.next(); err != nil {
		return bodyProblem(err)
	}
	if s.part.FormName() != urlsPart {
		return bodyProblem(fmt.Errorf("its first part must have the name %s", urlsPart))
	}
	sc := bufio.NewScanner(s.part)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		o.URLs = append(o.URLs, sc.Text())
	}
	if err := sc.Err(); err != nil {
		return bodyProblem(err)
	}
	for i, name := range files {
		o.Readers = append(o.Readers, engine.SeedReader{Name: name, Reader: &seedPart{parts: s, index: i + 1}})
	}
	o.Readers = append(o.Readers, &lastPart{parts: s})
	return nil
}

// lastPart reads what is behind the parts that have names, which must be nothing. It reads the body to its end: only
// then net/http sees when the client goes away, which ends the work.
type lastPart struct {
	parts *seedParts
}

func (l *lastPart) Read([]byte) (int, error) {
	_, err := l.parts.r.NextPart()
	switch {
	case errors.Is(err, io.EOF):
		if _, err = io.Copy(io.Discard, l.parts.body); err == nil {
			return 0, io.EOF
		}
	case err == nil:
		err = errors.New("it has more parts than urls and those that the parameter file names")
	}
	return 0, bodyProblem(err)
}

func (s *seedParts) next() (err error) {
	s.part, err = s.r.NextPart()
	if errors.Is(err, io.EOF) {
		err = errors.New("it has fewer parts than files are named")
	}
	return err
}

// seedPart reads one part, when those before it were read.
type seedPart struct {
	parts *seedParts
	index int
}

func (p *seedPart) Read(b []byte) (int, error) {
	for p.parts.index < p.index {
		if err := p.parts.next(); err != nil {
			return 0, bodyProblem(err)
		}
		p.parts.index++
	}
	return p.parts.part.Read(b)
}
