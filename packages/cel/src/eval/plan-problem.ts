// SPDX-License-Identifier: Apache-2.0

/** A checked expression that cannot be made a program, for example because a literal cannot be converted. */
export class PlanProblem extends Error {}
