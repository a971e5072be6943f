// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ipAddressBytes } from "./extensions.ts";

const cases: Record<string, { address: string; want: string; reason: string }> = {
  V4: { address: "127.0.0.1", want: "7f000001", reason: "four bytes" },
  Loopback: { address: "::1", want: "00000000000000000000000000000001", reason: "zeros before" },
  Any: { address: "::", want: "00000000000000000000000000000000", reason: "zeros only" },
  Middle: { address: "2001:db8::8:800", want: "20010db8000000000000000000080800", reason: "zeros between" },
  Trailing: { address: "fe80::", want: "fe800000000000000000000000000000", reason: "zeros after" },
  Full: { address: "1:2:3:4:5:6:7:8", want: "00010002000300040005000600070008", reason: "nothing left out" },
  Mapped: { address: "::ffff:10.1.2.3", want: "00000000000000000000ffff0a010203", reason: "an IPv4 tail" },
};

for (const [name, { address, want, reason }] of Object.entries(cases)) {
  test(`ip: ${name}`, () => assert.equal(ipAddressBytes(address).toString("hex"), want, reason));
}

for (const address of ["", "localhost", "1.2.3", "1.2.3.256", "fe80::1%eth0", ":::", "1:2:3:4:5:6:7:8:9"]) {
  test(`ip refuses "${address}"`, () => assert.throws(() => ipAddressBytes(address), /not an IPv4 or IPv6 address/));
}

test("any IPv6 address comes back from its text", () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      // The URL parser is an independent reader of the same grammar.
      const canonical = (text: string): string => new URL(`http://[${text}]/`).host;
      const hex = ipAddressBytes(address).toString("hex").match(/.{4}/g) ?? [];
      assert.equal(canonical(hex.join(":")), canonical(address));
    }),
  );
});
