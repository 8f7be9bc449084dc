// SPDX-License-Identifier: Apache-2.0

package storage

import "time"

// httpDate is the form in which nearly all servers write Last-Modified, 29 bytes. Records of fetched pages have one
// and are read often, so package time's parsing and formatting, 250 ns each, would cost too much.
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

const (
	weekdays = "SunMonTueWedThuFriSat"
	months   = "JanFebMarAprMayJunJulAugSepOctNovDec"
)

// dateMax is the last second of the year 9999, the last one that the form can express.
const dateMax = 253402300799

// appendHTTPDate appends seconds since 1970, up to dateMax, in the form of httpDate.
func appendHTTPDate(dst []byte, seconds int64) []byte {
	t := time.Unix(seconds, 0).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	w, m := 3*int(t.Weekday()), 3*int(month-1)
	dst = append(dst, weekdays[w:w+3]...)
	dst = append(dst, ',', ' ', '0'+byte(day/10), '0'+byte(day%10), ' ')
	dst = append(dst, months[m:m+3]...)
	return append(dst, ' ', '0'+byte(year/1000), '0'+byte(year/100%10), '0'+byte(year/10%10), '0'+byte(year%10),
		' ', '0'+byte(hour/10), '0'+byte(hour%10), ':', '0'+byte(minute/10), '0'+byte(minute%10),
		':', '0'+byte(second/10), '0'+byte(second%10), ' ', 'G', 'M', 'T')
}

// dateSeconds returns an HTTP date as seconds since 1970. ok is false unless formatting the result gives the same
// string again; that check refuses bytes that are not digits, wrong weekdays, and days that a month does not have.
func dateSeconds(s string) (seconds int64, ok bool) {
	if len(s) != len(httpDate) {
		return 0, false
	}
	number := func(at, digits int) (n int) {
		for _, c := range []byte(s[at : at+digits]) {
			n = 10*n + int(c) - '0'
		}
		return n
	}
	month := 0
	for month < len(months) && months[month:month+3] != s[8:11] {
		month += 3
	}
	year, day := number(12, 4), number(5, 2)
	hour, minute, second := number(17, 2), number(20, 2), number(23, 2)
	seconds = time.Date(year, time.Month(month/3+1), day, hour, minute, second, 0, time.UTC).Unix()
	if seconds < 0 || seconds > dateMax {
		return 0, false
	}
	var buf [len(httpDate)]byte
	return seconds, string(appendHTTPDate(buf[:0], seconds)) == s
}
