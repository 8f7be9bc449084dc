// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// Verify is Inspector.Verify for a directory that need not be whole. It opens the directory for reading only, also one
// that Open refuses; if not even the store can be read, that is a problem in the report, and the WARC files are read by
// themselves.
//
// Errors: ErrLocked, ErrFormat, ErrNoStore; errors of the context and of the machine.
func Verify(ctx context.Context, o Options) (VerifyReport, error) {
	o.ReadOnly, o.Events.Warning = true, nil // the report has it all
	e, err := Open(o)
	if errors.Is(err, ErrOlderFormat) {
		o.ReadOnly = false // to upgrade it
		e, err = Open(o)
	}
	if err == nil {
		r, err := e.Inspect().Verify(ctx)
		return r, errors.Join(err, e.Close())
	}
	if !errors.Is(err, ErrDamaged) {
		return VerifyReport{}, err
	}
	o = o.withDefaults()
	env := inspect.Env{
		FS: storage.NewWARCFS(o.FS), Dir: o.warcDir(), SortFS: o.FS, Now: o.Now,
		SegmentOf: segment.NumberOf, Page: segment.IsPage, HasBody: segment.HasBody,
	}
	if s, serr := storage.Open(o.storeDir(), storage.Options{FS: o.FS, Now: o.Now, Salvage: true}); serr == nil {
		defer s.Close() // open for reading: there is nothing to lose
		env.Store = s
	}
	v, verr := inspect.New(env).Verify(ctx, err)
	return viewVerified(&v), advised(verr)
}
