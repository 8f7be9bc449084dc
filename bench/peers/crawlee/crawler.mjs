// SPDX-License-Identifier: Apache-2.0

// The crawler that one writes with Crawlee: a CheerioCrawler that follows every link on every host,
// each URL once, robots.txt obeyed, the queue in memory. It keeps nothing of the pages.
//
//     node crawler.mjs SEED HOSTS-FILE CONCURRENCY MAX-PAGES
//
// Crawlee is found in NODE_MODULES, the folder that install.sh filled.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [seed, hostsFile, concurrency, maxPages] = process.argv.slice(2);
const { CheerioCrawler, Configuration, log } = createRequire(`${process.env.NODE_MODULES}/`)('@crawlee/cheerio');

const addresses = new Map();
for (const line of readFileSync(hostsFile, 'utf8').split('\n')) {
    const [address, ...names] = line.split(/\s+/);
    for (const name of names) addresses.set(name, address);
}

// lookup has the shape of dns.lookup, and knows only the hosts file.
function lookup(name, options, callback) {
    if (typeof options === 'function') [options, callback] = [{}, options];
    const address = addresses.get(name);
    if (address === undefined) callback(new Error(`${name} is not in the hosts file`));
    else if (options.all) callback(null, [{ address, family: 4 }]);
    else callback(null, address, 4);
}

log.setLevel(log.LEVELS.WARNING);
const crawler = new CheerioCrawler(
    {
        minConcurrency: Number(concurrency),
        maxConcurrency: Number(concurrency),
        maxRequestsPerCrawl: Number(maxPages) || undefined,
        respectRobotsTxtFile: true,
        useSessionPool: false,
        preNavigationHooks: [(_, gotOptions) => { gotOptions.dnsLookup = lookup; }],
        requestHandler: ({ enqueueLinks }) => enqueueLinks({ strategy: 'all' }),
    },
    new Configuration({ persistStorage: false, purgeOnStart: false }),
);
const stats = await crawler.run([seed]);
console.log(`${stats.requestsFinished} pages, ${stats.requestsFailed} failed`);
if (stats.requestsFinished === 0) process.exit(1);
