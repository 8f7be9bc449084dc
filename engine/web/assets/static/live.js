// SPDX-License-Identifier: Apache-2.0
// Keeps the parts of a page that are marked data-live as the server would draw them now. Each event of the server is
// only the reason to request the page again, so every number is written in one place.
