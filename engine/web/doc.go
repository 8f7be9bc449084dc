// SPDX-License-Identifier: Apache-2.0

// Package web shows an engine to people and to programs: a search page, a dashboard, and an API.
package web
