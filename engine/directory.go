// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// The directories within Options.Dir. Repair and Rebuild make a store in rebuildName, which has the name rebuiltName
// once it is complete and then takes the place of the old one, which becomes damagedName.
const (
	storeName   = "store"
	warcName    = "warc"
	rebuildName = "store.rebuild"
	rebuiltName = "store.rebuilt"
	damagedName = "store.damaged"
	// lockedName is the file that Repair and Rebuild lock while they run. It is empty and stays.
	lockedName = "store.rebuild.lock"
)

func (o *Options) storeDir() string {
	if o.rebuilding {
		return filepath.Join(o.Dir, rebuildName)
	}
	return filepath.Join(o.Dir, storeName)
}

func (o *Options) warcDir() string { return filepath.Join(o.Dir, warcName) }

// errInterrupted is the damage that an interrupted repair leaves.
var errInterrupted = fmt.Errorf("%w: a repair", ErrDamaged)

// damage ends the message of an error of Open with what a person can do about it.
func damage(err error, dir string) error {
	if errors.Is(err, errInterrupted) {
		return err
	}
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: restore the directory %s from a backup, or see what is lost with \"seine verify --dir "+
			"DIR\" and make the best of what is left with \"seine verify --dir DIR --repair\"", err, dir)
	}
	if errors.Is(err, fs.ErrPermission) {
		return err // it says what to do
	}
	return advised(err)
}

// refuseLostStore refuses to make a new store beside WARC files, and to open a directory whose repair was interrupted
// when one store was to take the place of the other.
func (o *Options) refuseLostStore() error {
	if o.rebuilding {
		return nil
	}
	fsys := storage.NewWARCFS(o.FS)
	if exists(fsys, filepath.Join(o.Dir, rebuiltName)) || exists(fsys, filepath.Join(o.Dir, rebuildName)) {
		if !o.repairing && storage.Locked(o.FS, filepath.Join(o.Dir, lockedName)) {
			return o.errRebuilding()
		}
		if err := o.refuseHalfPart(); err != nil {
			return err
		}
		return fmt.Errorf("%w of %s was interrupted: \"seine verify --dir DIR --repair\" repairs it again",
			errInterrupted, o.Dir)
	}
	if o.hasStore() {
		return nil
	}
	if some, err := o.hasWARC(); err != nil || !some {
		return err
	}
	return fmt.Errorf("%w: there are WARC files in %s and no store in %s: it is not taken for a new crawl; "+
		"\"seine rebuild --dir DIR\" makes a store of the files", ErrDamaged, o.warcDir(), o.storeDir())
}

// refuseHalfPart returns an error if all that there is of a crawl is a store that SplitDB has not completed: a repair
// would make an empty one of it. What a repair or rebuild leaves is beside a store or WARC files.
func (o *Options) refuseHalfPart() error {
	some, err := o.hasWARC()
	if err != nil || some || o.hasStore() || exists(storage.NewWARCFS(o.FS), filepath.Join(o.Dir, rebuiltName)) {
		return err
	}
	return fmt.Errorf("%w in %s yet: splitdb is making it, or was interrupted: run it again, or remove the directory",
		ErrNoStore, o.Dir)
}

// hasWARC reports whether there are WARC files of a crawl.
func (o *Options) hasWARC() (bool, error) {
	names, err := storage.NewWARCFS(o.FS).List(o.warcDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, o.warcFault("listing", err)
	}
	return slices.ContainsFunc(names, func(name string) bool { _, ok := segment.NumberOf(name); return ok }), nil
}

// warcFault is the error of what cannot be done with the folder of WARC files.
func (o *Options) warcFault(doing string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s is a file, not a folder of WARC files: move it away, or name the directory of a crawl",
			o.warcDir())
	}
	return fmt.Errorf("%s %s: %w", doing, o.warcDir(), err)
}

// hasStore reports whether there is anything of a store.
func (o *Options) hasStore() bool {
	names, err := storage.NewWARCFS(o.FS).List(filepath.Join(o.Dir, storeName))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // opening it says what is wrong
	}
	for _, name := range names {
		if name != "LOCK" && !strings.HasPrefix(name, "tmp-") {
			return true
		}
	}
	return false
}

// exists reports whether there is a file or directory of that name.
func exists(fsys warc.FS, name string) bool {
	_, err := fsys.Size(name)
	return err == nil
}

func (o *Options) errRebuilding() error {
	return fmt.Errorf("%w: a repair or rebuild of %s is running: wait until it is done", ErrLocked, o.Dir)
}

// lockRebuild keeps other repairs and rebuilds out until unlock: two of them at once would cut the same WARC files, and
// each would remove the store that the other makes. The file stays, see storage.Lock. The options know from now on who
// holds the lock.
func (o *Options) lockRebuild() (unlock func() error, err error) {
	lock, err := storage.Lock(o.FS, filepath.Join(o.Dir, lockedName))
	switch {
	case errors.Is(err, ErrLocked):
		return nil, o.errRebuilding()
	case errors.Is(err, fs.ErrNotExist):
		return func() error { return nil }, nil // there is no such directory, and so nothing to keep others from
	case err != nil:
		return nil, err
	}
	o.repairing = true
	return lock.Close, nil
}

// finishMove puts a complete new store in the place of the old one, which is kept beside it under the name that it
// returns; "" if there was none.
func (o *Options) finishMove() (kept string, err error) {
	made, store := filepath.Join(o.Dir, rebuiltName), filepath.Join(o.Dir, storeName)
	fsys := storage.NewWARCFS(o.FS)
	if !exists(fsys, made) {
		return "", nil
	}
	if o.hasStore() {
		kept = freeName(fsys, filepath.Join(o.Dir, damagedName))
		if err := storage.Move(o.FS, store, kept); err != nil {
			return "", err
		}
	}
	return kept, storage.Move(o.FS, made, store)
}

// freeName is a name that nothing has, or that with the first number behind it that makes it so: what an earlier repair
// kept stays.
func freeName(fsys warc.FS, name string) string {
	free := name
	for n := 2; exists(fsys, free); n++ {
		free = fmt.Sprintf("%s.%d", name, n)
	}
	return free
}
