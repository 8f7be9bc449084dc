// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// splitList reads "a,b" in lower case. "" is an empty list, not nil, which would mean a default.
func splitList(s string) []string {
	list := []string{}
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, strings.ToLower(part))
		}
	}
	return list
}

// parseDuration reads a duration such as 1.5s or 200ms, or a number of seconds without a unit.
func parseDuration(s string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("it is negative")
	}
	if err != nil {
		return 0, fmt.Errorf("want a duration such as 500ms or 2s")
	}
	return d, nil
}

// sizeUnits are the units of sizes. A suffix comes before those that it ends with.
var sizeUnits = []struct {
	suffix string
	size   int64
}{
	{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30},
	{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30},
}

// parseBytes reads a number of bytes with an optional unit, such as 512MB or 2GiB; both are powers of 1024.
func parseBytes(s string) (int64, error) {
	number := strings.ToUpper(strings.TrimSpace(s))
	unit := int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0 && n*float64(unit) <= 1<<50) {
		return 0, fmt.Errorf("want a size such as 512MB or 2GB")
	}
	return int64(n * float64(unit)), nil
}
