// SPDX-License-Identifier: Apache-2.0

package storage

import "fmt"

// The text forms of statuses and states, for JSON and for flags: the names that String returns, and "" for the zero
// value, which stands for none.

// MarshalText returns the status's name, "" for the zero Status. It never fails.
func (s Status) MarshalText() ([]byte, error) {
	if s == 0 {
		return nil, nil
	}
	return []byte(s.String()), nil
}

// UnmarshalText is the inverse of MarshalText. The error is that of ParseStatus.
func (s *Status) UnmarshalText(text []byte) (err error) {
	if *s = 0; len(text) > 0 {
		*s, err = ParseStatus(string(text))
	}
	return err
}

// MarshalText returns the outcome's name, "" for the zero FetchStatus. It never fails.
func (s FetchStatus) MarshalText() ([]byte, error) {
	if s == 0 {
		return nil, nil
	}
	return []byte(s.String()), nil
}

// UnmarshalText is the inverse of MarshalText. The error is that of ParseFetchStatus.
func (s *FetchStatus) UnmarshalText(text []byte) (err error) {
	if *s = 0; len(text) > 0 {
		*s, err = ParseFetchStatus(string(text))
	}
	return err
}

// MarshalText returns the state's name, "" for the zero SegmentState. It never fails.
func (s SegmentState) MarshalText() ([]byte, error) {
	if s == 0 {
		return nil, nil
	}
	return []byte(s.String()), nil
}

// UnmarshalText is the inverse of MarshalText. The error names the text and the possible names.
func (s *SegmentState) UnmarshalText(text []byte) error {
	*s = 0
	if len(text) == 0 {
		return nil
	}
	var names []string
	for state := SegmentOpen; state <= SegmentIndexed; state++ {
		if state.String() == string(text) {
			*s = state
			return nil
		}
		names = append(names, state.String())
	}
	return fmt.Errorf("unknown segment state %q: use one of %v", text, names)
}
