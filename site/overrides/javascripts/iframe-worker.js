// A page that is opened from a disk may start no worker, and the search runs in one. Here it runs in a frame instead.
// Not left to the package iframe-worker: Material would fetch it from the network, and this is all of it that is needed.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.body.append(frame);
      const inside = (this.inside = frame.contentWindow);
      const load = (place) =>
        new Promise((resolve, reject) => {
          const script = inside.document.createElement("script");
          script.src = place;
          script.onload = resolve;
          script.onerror = reject;
          inside.document.body.append(script);
        });
      // Scripts come one after another, as they would in a worker, but not at once: whoever asks has to wait for them.
      inside.importScripts = (...places) => places.reduce((done, place) => done.then(() => load(place)), Promise.resolve());
      inside.postMessage = (data) => this.answered(data);
      this.ready = load(url).catch((error) => this.onerror?.(error));
    }
    answered(data) {
      const event = new MessageEvent("message", { data });
      this.onmessage?.(event);
      this.dispatchEvent(event);
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
