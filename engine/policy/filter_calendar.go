// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"time"
)

// calendarYears is how many years ahead pages are dated. A later month belongs to a calendar without end.
const calendarYears = 5

// calendarWords occur in the URLs of calendars.
var calendarWords = []string{
	"calendar", "kalender", "calendrier", "calendario", "event", "agenda", "month", "date", "day",
}

// calendarTrap looks for a day too far ahead, 2047-03-12 or 2047/03/12, for such a month in the URL of a calendar,
// /calendar/2047/3, and for a parameter year=2047. Two numbers elsewhere, as in /topic/2047/3, are not a date.
func calendarTrap(target string, thisYear int) bool {
	for i := 0; i < len(target); i++ {
		if !digit(target, i) {
			continue
		}
		from := i
		for digit(target, i) {
			i++
		}
		if i-from != 4 || number(target[from:i]) <= yearNow(thisYear)+calendarYears {
			continue
		}
		if yearParameter(target[:from]) {
			return true
		}
		month, after := datePart(target[i:], 12)
		if !month {
			continue
		}
		if day, _ := datePart(after, 31); day && len(target[i:])-len(after) == 3 {
			return true
		}
		for _, word := range calendarWords {
			if strings.Contains(target, word) {
				return true
			}
		}
	}
	return false
}

// datePart reports whether a text begins with a separator and a number from 1 to most of one or two digits, and returns
// the text after it.
func datePart(s string, most int) (ok bool, after string) {
	if s == "" || s[0] != '/' && s[0] != '-' && s[0] != '.' {
		return false, ""
	}
	n := 1
	for digit(s, n) {
		n++
	}
	if n == 1 || n > 3 {
		return false, ""
	}
	v := number(s[1:n])
	return v >= 1 && v <= most, s[n:]
}

// yearParameter reports whether a text ends with the name of a parameter for years, and "=".
func yearParameter(before string) bool {
	name, ok := strings.CutSuffix(before, "=")
	if !ok {
		return false
	}
	name = name[strings.LastIndexAny(name, "?&;")+1:]
	return name == "year" || name == "cal_year" || name == "yr"
}

func digit(s string, i int) bool { return i < len(s) && s[i]-'0' <= 9 }

// number returns the value of a few digits.
func number(s string) (n int) {
	for i := range len(s) {
		n = 10*n + int(s[i]-'0')
	}
	return n
}

func yearNow(year int) int {
	if year == 0 {
		return time.Now().Year()
	}
	return year
}
