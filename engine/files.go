// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage"
)

// files are shares of the number of files that this process may have open. All of it is shared out here, so that the
// store and the WARC never meet the limit.
//
//	own      5/16, at most 256    WARC files, runs that are merged, tables that are written, the API, standard streams;
//	         1/16 if that is more from 4096 on, for more goroutines
//	tables   1/5 of the rest      the store keeps open; 74 to 1024
//	         as many as it says   the store beyond that: storage.FilesAtMost
//	walks    half of tables       segments that the index reads side by side, which the store may keep open or not
//	lookups  1/4 of the rest      names that are looked up; 4 to 64, fetch.LookupSockets each
//	conns    the rest             connections, idle ones included
type files struct{ own, tables, walks, lookups, conns int }

const (
	// filesMin is the least limit with which everything works.
	filesMin = 512
	// ownMax is enough for all files that are neither the store's nor connections, with as many goroutines that share a
	// phase as they leave sharerFiles each: such a goroutine writes a part of five ranges at most, and beside a phase
	// another segment is sealed and indexed.
	ownMax      = 256
	sharerFiles = 20
	// tablesMin is the least that Pebble uses, tablesMax what is enough for it.
	tablesMin, tablesMax = 74, 1024
	lookupsMin           = 4
	lookupsMax           = 64
)

// shareFiles shares out a limit. The error says that it is too low.
func shareFiles(limit int) (f files, err error) {
	if limit < filesMin {
		return f, fmt.Errorf("this process may have %d files open, which is too few: "+
			"raise the limit on open files to %d or more: ulimit -n", limit, filesMin)
	}
	f.own = max(min(limit*5/16, ownMax), limit/16)
	rest := limit - f.own
	f.tables = min(max(rest/5, tablesMin), tablesMax)
	f.walks = min(indexTextsMax, f.tables/2)
	rest -= storage.FilesAtMost(f.tables) + f.walks
	f.lookups = min(max(rest/4/fetch.LookupSockets, lookupsMin), lookupsMax)
	f.conns = rest - f.lookups*fetch.LookupSockets
	return f, nil
}

// sharers is how many goroutines may share the work of a phase, each of which writes tables of its own.
func (o *Options) sharers() int {
	files, err := shareFiles(openFiles())
	if err != nil {
		return 1 // whoever opens the store has returned the error
	}
	return max(min(o.Processors, files.own/sharerFiles), 1)
}

// openFiles returns the limit on open files. Go has raised it to the hard limit when the process started.
func openFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024 // what systems give at least
	}
	return int(min(l.Cur, 1<<20))
}
