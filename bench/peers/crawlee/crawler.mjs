// SPDX-License-Identifier: Apache-2.0

// The crawler that people write with Crawlee: a CheerioCrawler that follows every link on every host, each URL once,
// robots.txt obeyed, the queue in memory. It keeps nothing of the pages. Names come from /etc/hosts: see with-hosts.sh.
//
//     node crawler.mjs SEED CONCURRENCY MAX-PAGES
//
// Crawlee is found in NODE_MODULES, the folder that install.sh filled.

import { createRequire } from 'node:module';

const [seed, concurrency, maxPages] = process.argv.slice(2);
const { CheerioCrawler, Configuration, log } = createRequire(`${process.env.NODE_MODULES}/`)('@crawlee/cheerio');

log.setLevel(log.LEVELS.WARNING);
const crawler = new CheerioCrawler(
    {
        minConcurrency: Number(concurrency),
        maxConcurrency: Number(concurrency),
        maxRequestsPerCrawl: Number(maxPages) || undefined,
        respectRobotsTxtFile: true,
        useSessionPool: false,
        requestHandler: ({ enqueueLinks }) => enqueueLinks({ strategy: 'all' }),
    },
    new Configuration({ persistStorage: false, purgeOnStart: false }),
);
const stats = await crawler.run([seed]);
console.log(`${stats.requestsFinished} pages, ${stats.requestsFailed} failed`);
if (stats.requestsFinished === 0) process.exit(1);
