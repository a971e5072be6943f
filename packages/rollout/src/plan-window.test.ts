// SPDX-License-Identifier: Apache-2.0
// Maintenance windows in a time zone, on the days on which its clocks change.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plan } from "../test/memory-cluster.ts";

const zone = "Europe/Vienna";
/** The minutes of a day, in UTC, at which a window is open, as ranges. */
function openOn(day: string, window: { schedule: string; duration: string; timeZone?: string }): readonly string[] {
  const [step] = plan({ steps: [{ percent: 100, window }] }).steps;
  const start = Date.parse(`${day}T00:00:00Z`);
  const open = Array.from({ length: 24 * 60 }, (_, minute) => step?.window?.isOpen(start + minute * 60_000) === true);
  const text = (minute: number): string => new Date(start + minute * 60_000).toISOString().slice(11, 16);
  return open.flatMap((isOpen, minute) => {
    if (!isOpen || open[minute - 1] === true) return [];
    const end = open.indexOf(false, minute);
    return [`${text(minute)}-${end === -1 ? "24:00" : text(end)}`];
  });
}

const rows: readonly (readonly [
  string,
  string,
  { schedule: string; duration: string; timeZone?: string },
  readonly string[],
])[] = [
  [
    "winter time is an hour ahead of UTC",
    "2026-01-15",
    { schedule: "0 2 * * *", duration: "3h", timeZone: zone },
    ["01:00-04:00"],
  ],
  [
    "summer time is two hours ahead",
    "2026-07-15",
    { schedule: "0 2 * * *", duration: "3h", timeZone: zone },
    ["00:00-03:00"],
  ],
  [
    "a window that begins before the clocks go forward lasts as long as it says",
    "2026-03-29",
    { schedule: "0 1 * * *", duration: "2h", timeZone: zone },
    ["00:00-02:00", "23:00-24:00"],
  ],
  [
    "a window that begins before the clocks go back lasts as long as it says",
    "2026-10-25",
    { schedule: "30 1 * * *", duration: "2h", timeZone: zone },
    ["00:00-01:30"],
  ],
  ["without a zone the window is in UTC", "2026-07-15", { schedule: "30 22 * * *", duration: "1h" }, ["22:30-23:30"]],
  ["a window over midnight", "2026-07-15", { schedule: "30 23 * * *", duration: "1h" }, ["00:00-00:30", "23:30-24:00"]],
  [
    "a day of the week is that of the zone",
    "2026-07-15",
    { schedule: "30 0 * * 4", duration: "1h", timeZone: zone },
    ["22:30-23:30"],
  ],
];

for (const [title, day, window, want] of rows) test(title, () => assert.deepEqual(openOn(day, window), want));

test("a time that the clocks skip opens no second window, and one that they show twice opens at least once", () => {
  const skipped = openOn("2026-03-29", { schedule: "30 2 * * *", duration: "30m", timeZone: zone });
  assert.ok(skipped.length <= 1, skipped.join(" "));
  const twice = openOn("2026-10-25", { schedule: "30 2 * * *", duration: "30m", timeZone: zone });
  assert.ok(twice.length >= 1, twice.join(" "));
  assert.ok(
    twice.every((range) => ["00:30-01:00", "01:30-02:00"].includes(range)),
    twice.join(" "),
  );
});

test("a window that cannot be read is named with its schedule and zone", () => {
  const steps = [
    { percent: 50 },
    { percent: 100, window: { schedule: "0 8 * * *", timeZone: "Mars/Base", duration: "1h" } },
  ];
  const ofZone = plan({ steps }).problem;
  assert.match(ofZone ?? "", /^spec\.steps\[1\]\.window\.schedule "0 8 \* \* \*", timeZone "Mars\/Base": .*Mars\/Base/);
  const window = { schedule: "61 * * * *", duration: "1h" };
  const ofLine = plan({ window, steps: [{ percent: 100 }] }).problem;
  assert.match(ofLine ?? "", /^spec\.window\.schedule "61 \* \* \* \*": .*61/);
});
