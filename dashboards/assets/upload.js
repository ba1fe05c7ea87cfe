/* Uploads: files dropped on, or chosen for, any element of class "upload-zone" go to the server slice by slice, as one
   run, and are shown in its child of class "upload-list". The protocol is in docs/dashboard.md.

   Dash puts elements on the page late and takes them away again, so everything is heard at the document, and a run
   that is under way outlives the page that it was started on. */
"use strict";

(function () {
  const gapfinder = (window.gapfinder = window.gapfinder || {});
  const { crc32, Sha256 } = gapfinder.checksums;

  const SLICE_BYTES = 4 * 1024 * 1024;
  const PAUSES_MS = [200, 500, 1000, 2000, 4000, 8000, 15000, 15000, 15000];
  const ACCEPTED = ".nsys-rep,.qdrep,.qdstrm,.sqlite,.gz,.zst";
  const ZONE = ".upload-zone";
  const OVER = "upload-over";

  /** What the server refuses for good: its reason is for the reader. */
  class Refused extends Error {}

  /** The upload of some files as one profile, and the line of the list that shows it. */
  class Run {
    constructor(files) {
      this.files = files;
      this.size = files.reduce((sum, file) => sum + file.size, 0);
      this.stopped = new AbortController();
      this.uploads = [];
      this.line = new Line(files, () => this.cancel());
    }

    async start() {
      try {
        const name = runName(this.files);
        let before = 0;
        for (const [position, file] of this.files.entries()) {
          await this.send(file, { name: file.name, size: file.size, run: name, position }, before);
          before += file.size;
        }
        this.line.say("Starting its preparation");
        const made = await this.ask("POST", `/runs/${name}`, {});
        this.line.finish(made.page);
        document.dispatchEvent(new CustomEvent("gapfinder:uploaded", { detail: { profile: made.profile } }));
      } catch (error) {
        this.line.fail(this.stopped.signal.aborted ? "Cancelled" : reason(error));
      }
    }

    cancel() {
      this.stopped.abort();
      for (const upload of this.uploads) {
        fetch(`/uploads/${upload}`, { method: "DELETE" }).catch(() => {}); // the server gives it up after a day
      }
    }

    /** Send one file; `before` are the bytes of the run's files before it. */
    async send(file, announced, before) {
      const begun = await this.ask("POST", "/uploads", announced);
      this.uploads.push(begun.id);
      const sum = new Sha256();
      let summed = 0;
      let offset = begun.offset;
      let stalls = 0;
      const read = async (from) => {
        const bytes = new Uint8Array(await file.slice(from, from + SLICE_BYTES).arrayBuffer());
        if (from === summed) {
          sum.update(bytes);
          summed += bytes.length;
        }
        return bytes;
      };
      while (offset < file.size) {
        this.line.progress(before + offset, this.size, `Sending ${file.name}`);
        const next = await this.sendSlice(begun.id, offset, await read(offset));
        stalls = next > offset ? 0 : stalls + 1;
        if (stalls) {
          await this.pause(stalls - 1, "a part did not arrive");
        }
        offset = next;
      }
      while (summed < file.size) {
        this.line.progress(before + offset, this.size, `Checking ${file.name}`);
        await read(summed); // what was sent before the connection, or this page, was lost
      }
      await this.ask("POST", `/uploads/${begun.id}/finished`, { sha256: sum.digest() });
    }

    /** Send a slice; return where the next one begins, which after a broken connection the server is asked for. */
    async sendSlice(upload, offset, bytes) {
      try {
        const path = `/uploads/${upload}?offset=${offset}`;
        return (await this.once("PUT", path, bytes, { "X-Checksum": crc32(bytes) })).offset;
      } catch (error) {
        if (error instanceof Refused || this.stopped.signal.aborted) {
          throw error;
        }
        return (await this.ask("GET", `/uploads/${upload}`)).offset;
      }
    }

    /** Ask, with JSON, until there is an answer: all that is asked this way may be asked twice. */
    async ask(method, path, told) {
      for (let tries = 0; ; tries += 1) {
        try {
          return await this.once(method, path, told === undefined ? undefined : JSON.stringify(told), {});
        } catch (error) {
          if (error instanceof Refused || this.stopped.signal.aborted) {
            throw error;
          }
          await this.pause(tries, "the server does not answer");
        }
      }
    }

    async once(method, path, body, headers) {
      const signal = this.stopped.signal;
      const wanted = { ...headers, Accept: "application/json" };
      const answer = await fetch(path, { method, body, headers: wanted, signal, credentials: "same-origin" });
      const told = await answer.json().catch(() => ({}));
      if (answer.ok || Number.isInteger(told.offset)) {
        return told; // a slice that was not taken tells where the next one has to begin
      }
      if (answer.status >= 502 && answer.status <= 504) {
        throw new Error("the server does not answer");
      }
      throw new Refused(told.error || `The server refused it (status ${answer.status})`);
    }

    async pause(tries, why) {
      if (tries >= PAUSES_MS.length) {
        throw new Refused(`Given up, as ${why}. Choose the same files again later: it goes on where it ended.`);
      }
      this.line.say(`Trying again, as ${why}`);
      await new Promise((resume) => setTimeout(resume, PAUSES_MS[tries]));
      this.stopped.signal.throwIfAborted();
    }
  }

  /** One run in the list: its names, how far it is, and a button to end it. All of it is text, never markup. */
  class Line {
    constructor(files, cancel) {
      const more = files.length > 1 ? ` and ${files.length - 1} more` : "";
      this.element = element("div", "upload-run");
      this.bar = element("progress", "upload-progress");
      this.bar.max = 1;
      this.bar.setAttribute("aria-label", `Upload of ${files[0].name}`);
      this.state = element("span", "upload-state", "Starting");
      this.state.setAttribute("role", "status");
      this.button = element("button", "upload-cancel", "Cancel");
      this.button.type = "button";
      this.button.onclick = cancel;
      this.element.append(element("span", "upload-name", files[0].name + more), this.bar, this.state, this.button);
      this.show();
    }

    /** Put the line into the list, where there is one on the page now. */
    show() {
      const list = document.querySelector(`${ZONE} .upload-list`);
      if (list && !list.contains(this.element)) {
        list.append(this.element);
      }
    }

    progress(sent, whole, stage) {
      this.bar.value = sent / whole;
      this.say(`${stage}: ${Math.floor((100 * sent) / whole)} %`);
    }

    say(text) {
      this.state.textContent = text;
      this.show();
    }

    fail(text) {
      this.element.classList.add("upload-failed");
      this.end(text);
    }

    finish(page) {
      this.bar.value = 1;
      this.end("Uploaded");
      const link = element("a", "upload-page", "Open");
      link.href = page;
      this.element.append(link);
    }

    end(text) {
      this.say(text);
      this.button.textContent = "Dismiss";
      this.button.onclick = () => {
        runs.delete(this);
        this.element.remove();
      };
    }
  }

  const runs = new Set();

  function element(tag, name, text) {
    const made = document.createElement(tag);
    made.className = name;
    made.textContent = text || "";
    return made;
  }

  function reason(error) {
    return error instanceof Refused ? error.message : `It cannot be read: ${error.message}`;
  }

  /** Return what the server knows a run by: the same for the same files, so that it can be resumed. */
  function runName(files) {
    const told = files.map((file) => `${file.name}\n${file.size}\n${file.lastModified}`).join("\n");
    const sum = new Sha256();
    sum.update(new TextEncoder().encode(told));
    return sum.digest().slice(0, 32);
  }

  /** Upload files as one profile. */
  function upload(files) {
    if (files.length) {
      const run = new Run(Array.from(files));
      runs.add(run.line);
      run.start();
    }
  }

  function choose() {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = true;
    input.accept = ACCEPTED;
    input.addEventListener("change", () => upload(input.files));
    input.click();
  }

  function zoneOf(event) {
    return event.target instanceof Element ? event.target.closest(ZONE) : null;
  }

  document.addEventListener("dragover", (event) => {
    const zone = zoneOf(event);
    if (zone && event.dataTransfer.types.includes("Files")) {
      event.preventDefault();
      zone.classList.add(OVER);
    }
  });
  document.addEventListener("dragleave", (event) => {
    const zone = zoneOf(event);
    if (zone && !zone.contains(event.relatedTarget)) {
      zone.classList.remove(OVER);
    }
  });
  document.addEventListener("drop", (event) => {
    const zone = zoneOf(event);
    if (zone) {
      event.preventDefault();
      zone.classList.remove(OVER);
      upload(event.dataTransfer.files);
    }
  });
  document.addEventListener("click", (event) => {
    if (zoneOf(event) && !event.target.closest(".upload-list, a, input")) {
      choose();
    }
  });
  /** Give a page that Dash put up anew what the zone lacks: a button for the keyboard, and lines of what is under way. */
  function complete() {
    const zone = document.querySelector(ZONE);
    if (zone && !zone.querySelector("button.upload-choose")) {
      const button = element("button", "upload-choose", "Choose files");
      button.type = "button";
      const list = zone.querySelector(".upload-list");
      zone.insertBefore(button, list && list.parentNode === zone ? list : null);
    }
    runs.forEach((line) => line.show());
  }

  new MutationObserver(complete).observe(document, { childList: true, subtree: true });

  gapfinder.upload = upload;
})();
