/* Checksums of bytes as they come: CRC-32 of a slice, SHA-256 of a whole file. The browser's own SHA-256 wants all of
   a file in memory, and is not there at all on a page without TLS. */
"use strict";

(function () {
  const gapfinder = (window.gapfinder = window.gapfinder || {});

  const CRC = new Uint32Array(256).map((_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit += 1) {
      value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    }
    return value;
  });

  /** Return the CRC-32 of bytes as hexadecimal digits. */
  function crc32(bytes) {
    let value = 0xffffffff;
    for (let place = 0; place < bytes.length; place += 1) {
      value = CRC[(value ^ bytes[place]) & 0xff] ^ (value >>> 8);
    }
    return hexadecimal(~value);
  }

  /** The first 32 bits of the fractional part of a root of each of the first `count` primes (FIPS 180-4, 4.2.2). */
  function fractions(count, power) {
    const primes = [];
    for (let number = 2; primes.length < count; number += 1) {
      if (primes.every((prime) => number % prime)) {
        primes.push(number);
      }
    }
    return primes.map((prime) => Math.floor((prime ** power % 1) * 2 ** 32));
  }

  const ROUNDS = new Int32Array(fractions(64, 1 / 3)); // signed: engines are several times as fast with them
  const START = fractions(8, 1 / 2);
  const BLOCK = 64;

  /** SHA-256 of bytes that come in parts: `update` as often as there are some, then `digest` once. */
  class Sha256 {
    constructor() {
      this.state = new Int32Array(START);
      this.words = new Int32Array(64);
      this.rest = new Uint8Array(BLOCK);
      this.waiting = 0;
      this.length = 0;
    }

    update(bytes) {
      this.length += bytes.length;
      let place = 0;
      if (this.waiting) {
        place = Math.min(BLOCK - this.waiting, bytes.length);
        this.rest.set(bytes.subarray(0, place), this.waiting);
        this.waiting += place;
        if (this.waiting < BLOCK) {
          return;
        }
        this._mix(this.rest, 0);
        this.waiting = 0;
      }
      for (; place + BLOCK <= bytes.length; place += BLOCK) {
        this._mix(bytes, place);
      }
      this.rest.set(bytes.subarray(place));
      this.waiting = bytes.length - place;
    }

    /** Return the digest as hexadecimal digits. */
    digest() {
      const length = this.length;
      const padding = new Uint8Array(9 + ((119 - (length % BLOCK)) % BLOCK)); // a one, zeros, and eight bytes of length
      padding[0] = 0x80;
      const view = new DataView(padding.buffer);
      view.setUint32(padding.length - 8, Math.floor(length / 2 ** 29));
      view.setUint32(padding.length - 4, (length * 8) % 2 ** 32);
      this.update(padding);
      return Array.from(this.state, (value) => hexadecimal(value)).join("");
    }

    /** Mix one block into the state (FIPS 180-4, 6.2.2). */
    _mix(bytes, from) {
      const words = this.words;
      for (let i = 0; i < 16; i += 1) {
        const at = from + 4 * i;
        words[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
      }
      for (let i = 16; i < 64; i += 1) {
        const a = words[i - 15];
        const b = words[i - 2];
        const small = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
        const large = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
        words[i] = (words[i - 16] + small + words[i - 7] + large) | 0;
      }
      const state = this.state;
      let a = state[0];
      let b = state[1];
      let c = state[2];
      let d = state[3];
      let e = state[4];
      let f = state[5];
      let g = state[6];
      let h = state[7];
      for (let i = 0; i < 64; i += 1) {
        const sumE = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
        const first = (h + sumE + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
        const sumA = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
        const second = (sumA + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g;
        g = f;
        f = e;
        e = (d + first) | 0;
        d = c;
        c = b;
        b = a;
        a = (first + second) | 0;
      }
      state[0] += a;
      state[1] += b;
      state[2] += c;
      state[3] += d;
      state[4] += e;
      state[5] += f;
      state[6] += g;
      state[7] += h;
    }
  }

  function hexadecimal(value) {
    return (value >>> 0).toString(16).padStart(8, "0");
  }

  gapfinder.checksums = { crc32, Sha256 };
})();
