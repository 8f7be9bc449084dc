// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Dialer returns a DialContext that looks up names in a hosts(5) file and nowhere else. It may be called from any
// goroutine. The error is that of reading the file.
func Dialer(file string) (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the hosts file: %w", err)
	}
	defer f.Close()
	addresses := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		for i := 1; i < len(fields); i++ {
			addresses[fields[i]] = fields[0]
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the hosts file: %w", err)
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		address, ok := addresses[host]
		if !ok {
			return nil, fmt.Errorf("%s is not in the hosts file %s", host, file)
		}
		return d.DialContext(ctx, network, net.JoinHostPort(address, port))
	}, nil
}
