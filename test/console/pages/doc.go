// Command pages measures the cost of open pages of the console for the gateway: streams, memory and processor time, first with none and
// then with a hundred open.
//
// Some of the pages are tabs of a real Chromium. The others are HTTP clients with their own connections. They send the requests that such a
// tab has sent, in the same order, and read the watch that stays open. Half of the pages are lists, half show one cluster each. Clusters
// change during the measurement. Run it in test/console.
package main
