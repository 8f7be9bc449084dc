// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/web"
)

// serving commands are those whose work "seine serve" does for its clients.
const serving = inInject | inRecrawl | inDelete | inDedup | inIndex | inPurge | inCheckURL | inStories | inViews

// defaultAddress is where "seine serve" listens: only programs of this machine reach it.
const defaultAddress = "127.0.0.1:8080"

func serveCommand(c *console) *cobra.Command {
	f := flags{except: []string{"seeds"}}
	var addr string
	var names []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "serve the search page, the dashboard and the API over HTTP",
		Long: "Serves the search page, the dashboard and the API until it is interrupted, and prints the address to\n" +
			"open. Who knows its token, which is in the file token of the data directory, may also change things.\n" +
			"The index is merged meanwhile, where that makes searches faster: it is faster some time after a crawl.\n" +
			"While another process has the directory open, such as a crawl, it serves what that process has, and\n" +
			"opens the directory itself when that one has ended. A directory that takes no writes, such as a copy,\n" +
			"is served for reading only.\n" +
			"Settings are those that the directory was made with, unless a flag, a variable or a file says otherwise.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(checkAddress("addr", addr), checkHostNames(names)); err != nil {
				return err
			}
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			o.MustExist, o.ReadOnly = true, true
			at := &front{c: c, dir: o.Dir, addr: addr, names: names}
			given := f.run.values
			return f.inTurns(cmd, at, func() error {
				f.run.values = maps.Clone(given) // the directory may have been made with others since the last try
				o, err := f.asMade(cmd, o)
				if err != nil {
					return err
				}
				collectRarely()
				return f.serveOwn(cmd, at, o)
			})
		},
	}
	f.settings(cmd, serving)
	cmd.Flags().StringVar(&addr, "addr", defaultAddress,
		"`address` to listen on, with its port; 0: any free one; without a host, such as :8080: all addresses of "+
			"this machine")
	cmd.Flags().StringSliceVar(&names, "host-name", nil,
		"`names` by which browsers may call this server, besides localhost and addresses")
	return cmd
}

// serveOwn opens the engine and serves it at a, until the command is interrupted: for reading only where the directory
// takes no writes.
func (f *flags) serveOwn(cmd *cobra.Command, a *front, o engine.Options) error {
	opened := false
	open := func() error {
		return f.withOptions(cmd, o, func(e *engine.Engine) error {
			opened = true
			if a.reads = o.ReadOnly; !a.reads {
				defer a.c.mergeIndex(cmd.Context(), e)()
			}
			err := a.show(func(token string) http.Handler {
				o := f.served()
				o.Token, o.Hosts = token, a.names
				return web.New(e, o)
			})
			if err == nil {
				<-cmd.Context().Done()
				err = a.close()
			}
			return err
		})
	}
	o.ReadOnly = false
	err := open()
	if opened || !errors.Is(err, syscall.EROFS) && !notPermitted(err, o.Dir) {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "seine: %s takes no writes: it is served for reading only\n", o.Dir)
	o.ReadOnly, f.exists = true, true
	return open()
}

// mergeIndex merges the index beside what is served, which makes searches faster. end ends that and waits for it.
func (c *console) mergeIndex(ctx context.Context, e *engine.Engine) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if _, err := e.Index(ctx, engine.IndexOptions{MergeOnly: true}); err != nil && ctx.Err() == nil {
			fmt.Fprintf(c.err, "seine: %v\n", err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// serve serves an engine at an address ("": nowhere), and prints what to open. end ends that.
func (c *console) serve(e *engine.Engine, dir, addr string, o web.Options) (end func() error, err error) {
	if addr == "" {
		return func() error { return nil }, nil
	}
	return c.serveHandler(dir, addr, false, func(token string) http.Handler {
		o.Token = token
		return web.New(e, o)
	})
}

// serveHandler serves what make makes with the token of the data directory. One that is only read need not have any.
func (c *console) serveHandler(
	dir, addr string, reads bool, make func(token string) http.Handler,
) (end func() error, err error) {
	token, err := web.Token(dir)
	query := "?token=" + url.QueryEscape(token) // its owner may have written another
	if err != nil && reads {
		token, query, err = "", "", nil
	}
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: give another address; with port 0 it is any free one", err)
	}
	s := web.Start(l, make(token))
	fmt.Fprintf(c.err, "seine: open http://%s/%s\n", openable(l.Addr()), query)
	return s.Close, nil
}

// checkAddress returns an error for what is no address to listen on, with its port. flag names it.
func checkAddress(flag, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
	}
	if err != nil {
		return &usageError{fmt.Errorf("--%s %q: want an address and a port, such as %s", flag, addr, defaultAddress)}
	}
	return nil
}

// checkHostNames returns an error for what is more than a name: no Host header would be taken for it.
func checkHostNames(names []string) error {
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, ":/ *") {
			return &usageError{fmt.Errorf("--host-name %q: want a name without scheme, port and *, such as "+
				"search.example", name)}
		}
	}
	return nil
}

// openable is an address that a browser of this machine can open.
func openable(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err == nil && at.Addr().IsUnspecified() {
		return fmt.Sprintf("localhost:%d", at.Port())
	}
	return a.String()
}
