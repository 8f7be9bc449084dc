// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// files are shares of the number of files that this process may have open. All of it is shared out here, so that the
// store and the WARC never meet the limit.
//
//	own      3/8, at most 256     WARC files, runs that are merged, the log, the API, standard streams
//	tables   1/3 of the rest      the store; 74 to 1024, and tableSlack for files that are no tables
//	lookups  1/8 of the rest      names that are looked up; 4 to 64, two sockets each
//	conns    the rest             connections, idle ones included
type files struct{ tables, lookups, conns int }

const (
	// filesMin is the least limit with which everything works.
	filesMin = 192
	// tablesMin is the least that Pebble uses, tablesMax what is enough for it.
	tablesMin, tablesMax = 74, 1024
	tableSlack           = 16
	lookupsMin           = 4
	lookupsMax           = 64
)

// shareFiles shares out a limit. The error says that it is too low.
func shareFiles(limit int) (f files, err error) {
	if limit < filesMin {
		return f, fmt.Errorf("this process may have %d files open, which is too few: "+
			"raise the limit on open files to %d or more: ulimit -n", limit, filesMin)
	}
	rest := limit - min(limit*3/8, 256)
	f.tables = min(max(rest/3-tableSlack, tablesMin), tablesMax)
	rest -= f.tables + tableSlack
	f.lookups = min(max(rest/8, lookupsMin), lookupsMax)
	f.conns = rest - 2*f.lookups
	return f, nil
}

// openFiles returns the limit on open files. Go has raised it to the hard limit when the process started.
func openFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024 // what systems give at least
	}
	return int(min(l.Cur, 1<<20))
}
