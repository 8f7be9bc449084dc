// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// socketFile is the name of the socket in a data directory.
const socketFile = "seine.sock"

// socketPathMax is the length of a socket's path, in bytes, that all systems take.
const socketPathMax = 103

// ListenSocket listens on the socket of a data directory, whose store the caller must have open: its lock keeps out
// others, so that a socket that is there already is one that a killed process left, and is replaced. Only the owner of
// the directory can connect, from the first moment. Closing the listener removes the socket; the store must be open
// until then.
func ListenSocket(dir string) (net.Listener, error) {
	private, err := os.MkdirTemp(dir, socketFile+"-*") // with mode 0700, whatever the umask
	if err != nil {
		return nil, fmt.Errorf("making the socket of %s: %w", dir, err)
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	path, done, err := shortPath(made)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("making the socket of %s: %w", dir, err)
	}
	l.SetUnlinkOnClose(false) // of the name that it had first
	name := filepath.Join(dir, socketFile)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, name)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the socket of %s: %w", dir, err), l.Close())
	}
	return &socketListener{UnixListener: l, name: name}, nil
}

// socketListener is a listener that removes its file.
type socketListener struct {
	*net.UnixListener
	name string
}

// Close removes the socket, then closes it.
func (s *socketListener) Close() error {
	if err := os.Remove(s.name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, s.UnixListener.Close())
	}
	return s.UnixListener.Close()
}

// dialSocket connects to the socket of a data directory.
func dialSocket(ctx context.Context, dir string) (net.Conn, error) {
	path, done, err := shortPath(filepath.Join(dir, socketFile))
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// shortPath returns a path of a file that is short enough for a socket: the path itself, or on Linux one by the
// descriptor of its folder, until done is called.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) <= socketPathMax {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path %s is too long for a socket (%d bytes, the system takes %d): "+
			"use a symbolic link to the data directory, with a shorter path", path, len(path), socketPathMax)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/" + strconv.Itoa(int(folder.Fd())) + "/" + filepath.Base(path), func() { folder.Close() }, nil
}
