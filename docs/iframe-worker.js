// Search runs in a worker, which browsers don't start for pages that are opened from disk. There a
// frame takes its place: its script runs in the page's own thread, and messages are events.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const started = new Promise((done) => {
        const start = () => {
          document.body.append(frame);
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const load = (src) =>
            new Promise((loaded) => {
              const script = inside.document.createElement("script");
              script.src = src;
              script.onload = loaded;
              inside.document.body.append(script);
            });
          inside.importScripts = (...urls) =>
            urls.reduce((before, src) => before.then(() => load(src)), Promise.resolve());
          load(new URL(url, location.href).href).then(() => done(inside));
        };
        if (document.body) start();
        else addEventListener("DOMContentLoaded", start);
      });
      this.postMessage = (data) => {
        started.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
      };
      this.terminate = () => frame.remove();
    }
  };
}
