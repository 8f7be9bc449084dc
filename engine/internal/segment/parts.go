// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage/warc"
)

// parts knows where segments that are not sealed are in WARC files, and who writes which file.
//
// Segments that follow one another share files: a segment begins where the one before it ended, with a warcinfo record
// that names it. The file's name has the number of the segment that begins it. Of a sealed segment the store says where
// it is. Of others, the process that writes one knows; the next process finds out with Survey.
type parts struct {
	mu sync.Mutex
	// at are the parts of segments that are not sealed and that nobody writes.
	at map[uint32][]warc.FileInfo
	// writers is the number of Writers that are not closed. With the last of them logs are closed.
	writers int
	logs    []*warc.Writer // open, shared by segments
	free    []*warc.Writer // of logs, those in which no segment is open
	// noted are the fetches of segments that are not sealed, as far as this process has stored or resumed them.
	noted map[uint32]*noted
}

// open counts the Writer of a segment, whose fetches are noted in n.
func (p *parts) open(number uint32, n *noted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writers++
	if p.noted == nil {
		p.noted = map[uint32]*noted{}
	}
	p.noted[number] = n
}

// leave ends the part of a segment in its log, nil if there is none, and lets the next one have the log. It returns
// where the segment is: in the files that it had before, and in those of the log.
func (p *parts) leave(number uint32, before []warc.FileInfo, log *warc.Writer, alone bool) []warc.FileInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	files := slices.Clone(before)
	if log != nil {
		files = append(files, log.EndPart()...)
		if !alone {
			p.free = append(p.free, log)
		}
	}
	p.note(number, files)
	return files
}

// note notes where a segment is. p.mu is held.
func (p *parts) note(number uint32, files []warc.FileInfo) {
	if p.at == nil {
		p.at = map[uint32][]warc.FileInfo{}
	}
	p.at[number] = files
}

// close ends what open began. With the last Writer it closes the logs.
func (p *parts) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writers--; p.writers > 0 {
		return nil
	}
	var failed error
	for _, log := range p.logs {
		_, err := log.Close()
		failed = errors.Join(failed, err)
	}
	p.logs, p.free = nil, nil
	return failed
}

// sealed forgets a segment of which the store knows by now where it is, and what is in it.
func (p *parts) sealed(number uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.at, number)
	delete(p.noted, number)
}

// held are the files that nobody may change or remove: those that are written, and those with a part of a segment that
// is not sealed.
func (p *parts) held() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := map[string]bool{}
	for _, log := range p.logs {
		for _, name := range log.Held() {
			held[name] = true
		}
	}
	for _, files := range p.at {
		for _, f := range files {
			held[f.Name] = true
		}
	}
	return held
}

// written reports whether a file is being written.
func (p *parts) written(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.logs, func(log *warc.Writer) bool { return slices.Contains(log.Held(), name) })
}

// turn makes those who write a file go on in another.
func (p *parts) turn(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, log := range p.logs {
		if slices.Contains(log.Held(), name) {
			log.NextFile()
		}
	}
}

// unsealed are the numbers of segments that are not sealed and of which this process knows what is in them.
func (p *parts) unsealed() []uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.noted))
}

// notedOf is what is known of a segment that is not sealed; nil: nothing.
func (p *parts) notedOf(number uint32) *noted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.noted[number]
}
