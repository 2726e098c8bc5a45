// Crawlee on the same pages: `node with_crawlee.mjs PORT HOSTS`. Prints the pages fetched.
import { CheerioCrawler, Configuration } from '@crawlee/cheerio';

const [port, hosts] = process.argv.slice(2).map(Number);
let pages = 0;
const crawler = new CheerioCrawler({
    maxConcurrency: 64,
    respectRobotsTxtFile: true,
    async requestHandler({ enqueueLinks }) {
        pages += 1;
        await enqueueLinks({ strategy: 'same-hostname' });
    },
}, new Configuration({ persistStorage: false, logLevel: 'OFF' }));
await crawler.run(Array.from({ length: hosts }, (_, host) => `http://127.0.1.${host + 1}:${port}/`));
console.log(pages);
