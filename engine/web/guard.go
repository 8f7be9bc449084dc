// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// contentPolicy lets a page load its own files and nothing else: no inline script or style, no frame around it.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"

// secure sets the headers that every answer has. A page may set others.
func secure(head http.Header) {
	head.Set("Content-Security-Policy", contentPolicy)
	head.Set("X-Content-Type-Options", "nosniff")
	// With no-referrer a browser says "Origin: null" for a form of our own pages. Over HTTP to another machine it says
	// nothing else of where that comes from.
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-store")
}

// refuse says why a request is not served; nil: it is.
func (h *Handler) refuse(r *http.Request) *Problem {
	if h.o.Local || h.checked {
		return nil
	}
	if !h.knownHost(r.Host) {
		return problem(http.StatusMisdirectedRequest, "host",
			"this server is not known by the name in the Host header: use its address, or give the name to "+
				"\"seine serve\" with --host-name")
	}
	if readsOnly(r.Method) || !h.changes(r) {
		return nil
	}
	if err := h.cross.Check(r); err != nil {
		return problem(http.StatusForbidden, "origin", "a request that changes something must come from a page of "+
			"this server: "+err.Error())
	}
	if !h.permitted(r) {
		return needsToken()
	}
	return nil
}

// changes reports whether a request may change something: unless it is known that nothing takes its method, and the
// answer says so.
func (h *Handler) changes(r *http.Request) bool {
	if h.e == nil {
		return true // the other process may be a later version
	}
	_, pattern := h.mux.Handler(r)
	path, ours := strings.CutPrefix(pattern, h.o.Prefix)
	switch list := h.operations[path]; {
	case !ours:
		return true
	case list != nil:
		return slices.ContainsFunc(list, func(o *route) bool { return o.method == r.Method })
	}
	return path != "/" && path != apiPath+"/" && path != apiPath
}

func needsToken() *Problem {
	return problem(http.StatusUnauthorized, "token", "this needs the token that is in the file token of the data "+
		"directory: send Authorization: Bearer TOKEN")
}

func readsOnly(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// plainHosts are names as browsers send them: without a dot at the end, and other letters than ASCII in punycode.
func plainHosts(names []string) (plain []string) {
	for _, name := range names {
		name = strings.TrimSuffix(name, ".")
		if ascii, err := idna.Lookup.ToASCII(name); err == nil { // else it is none, or one that is only used at home
			name = ascii
		}
		plain = append(plain, name)
	}
	return plain
}

// knownHost reports whether the Host header names this server. Any address does: a foreign page cannot have the origin
// of an address that is not its own.
func (h *Handler) knownHost(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	same := func(known string) bool { return strings.EqualFold(known, name) }
	if name == "localhost" || slices.ContainsFunc(h.o.Hosts, same) {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil
}

// permitted reports whether a request has the token: a program sends it, a browser has a session.
func (h *Handler) permitted(r *http.Request) bool {
	switch {
	case h.o.Local:
		return true
	case h.checked:
		return r.Header.Get(passedHeader) == passedForToken
	case h.o.Token == "":
		return false
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && equal(text, h.o.Token) || h.hasSession(r)
}

// sessionCookie is the name of the cookie that a browser gets for the token. Browsers send a cookie to all ports of a
// host, so the name has the port: two servers on one machine do not take each other's sessions away.
func sessionCookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" {
		return "seine-session-" + port
	}
	return "seine-session"
}

func (h *Handler) hasSession(r *http.Request) bool {
	c, err := r.Cookie(sessionCookie(r))
	return err == nil && h.o.Token != "" && equal(c.Value, h.session(c.Name))
}

// session is the value of a cookie: a hash of the token, so that whoever reads a cookie has no token, and of the
// cookie's name, so that it counts at one port only.
func (h *Handler) session(cookie string) string {
	mac := hmac.New(sha256.New, []byte(h.o.Token))
	mac.Write([]byte(cookie))
	return hex.EncodeToString(mac.Sum(nil))
}

// openSession gives a browser that opens a page with ?token= its session, and sends it to the same page without.
func (h *Handler) openSession(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || h.o.Token == "" || h.checked || !strings.Contains(r.URL.RawQuery, "token=") {
		return false
	}
	q := r.URL.Query()
	if !q.Has("token") || strings.HasPrefix(r.URL.Path, h.o.Prefix+apiPath) {
		return false
	}
	if !equal(q.Get("token"), h.o.Token) {
		h.deny(w, r, problem(http.StatusUnauthorized, "token", "the token of this address is not the one in the file "+
			"token of the data directory: \"seine serve\" prints the address"))
		return true
	}
	name := sessionCookie(r)
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: h.session(name), Path: h.o.Prefix + "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: overTLS(r),
	})
	q.Del("token")
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: q.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
