// Command pages measures what open pages of the console cost the gateway: streams, memory and processor time, first with none and then with a hundred open.
//
// Some of the pages are tabs of a real Chromium. The others are HTTP clients, each with connections of its own, which send the very requests that such a tab has
// sent, in their order, and read the watch that stays open. Half of the pages are lists, half of one cluster each. Meanwhile clusters change. Run it in test/console.
package main
