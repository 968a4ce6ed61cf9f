//! Neighbouring streams: every change that the promise hides, or a selection if there are too many.
//!
//! **Definition.** A contribution is a value at each of at most k steps, at least b apart. The size
//! of its effect is a convex function of the values, so the largest effect has them at the ends of
//! the range, or absent. A value that is split between keys is an average of whole ones, and no larger
//! than one of them by the same convexity. Neighbours differ by one contribution. If contributions are
//! replaced, they differ by one contribution minus another.
//!
//! **Across lanes.** With keys, each step of a contribution counts for one key, and another step
//! may count for another. A replaced contribution may leave one key and appear in another. These
//! two orthogonal changes have size √2 Δ for Gaussian noise and 2 Δ for Laplace noise. Each change
//! is therefore also spread over lanes, in all ways that differ by more than a permutation of the
//! lanes. The coordinates of a vector are lanes as well, and a step may point between them.
//!
//! **Changes in turn.** If a person changes the stream up and down in turn, the ends of the range alternate.
//! Only spreads that alternate in each lane are kept, and the list is not complete with several lanes.
//!
//! **Guarantee.** If [`Neighbourhood::is_complete`], the list has every pattern of steps with every
//! choice of ends and lanes, and no other change is larger. Otherwise it has evenly spaced patterns
//! and random ones.

use std::collections::HashMap;

use evertally::{Contribution, Neighbours, Participation};

use crate::keys::Coins;
use crate::sampling::kept_lanes;
use crate::stream::Change;
use crate::subject::Promise;

/// Changes that must be hidden.
#[derive(Debug, Clone)]
pub(crate) struct Neighbourhood {
    pub(crate) changes: Vec<Change>,
    /// Whether no omitted change is larger.
    pub(crate) is_complete: bool,
}

impl Neighbourhood {
    /// The changes at these steps of a stream with `lanes` lanes, up to about `max` of them.
    pub(crate) fn new(promise: &Promise, steps: &[usize], lanes: usize, max: usize) -> Self {
        let (contributions, all_contributions) = contributions(promise, steps, max);
        let (mut changes, mut is_complete) = match promise.neighbours {
            Neighbours::AddRemove => (contributions.clone(), all_contributions),
            Neighbours::Replace => {
                let are_all = all_contributions && contributions.len().pow(2) <= max;
                (replacements(&contributions, max), are_all)
            }
        };
        // Lanes beyond the kept ones of a run would not be observed.
        let used = kept_lanes(lanes);
        if used > 1 && promise.participation.is_in_turn() {
            is_complete = false;
            if promise.neighbours == Neighbours::AddRemove {
                spread(&mut changes, lanes, used, max);
                changes.retain(alternates);
            }
        } else if used > 1 {
            is_complete &= spread(&mut changes, lanes, used, max);
            if promise.neighbours == Neighbours::Replace && !is_complete {
                // The largest change if no inner product of columns of R is negative.
                changes.extend(contributions.iter().map(|one| one.less(&one.in_lane(1))));
            }
        }
        if promise.contribution.is_vector() {
            is_complete &= contributions.iter().all(|change| change.entries().len() == 1);
            if used == DIAGONAL_COORDINATES {
                changes.extend(contributions.iter().take(max / 4).map(diagonal));
            }
        }
        Self { changes, is_complete }
    }
}

/// Whether the amounts of each lane go up and down in turn. The steps are in order.
fn alternates(change: &Change) -> bool {
    let mut last = HashMap::new();
    change
        .entries()
        .iter()
        .all(|(_, lane, amount)| last.insert(*lane, *amount).is_none_or(|before: f64| before * *amount < 0.0))
}

/// The number of coordinates of a diagonal direction. Half of the amount in each of four
/// coordinates has the norm of the whole amount, without rounding.
const DIAGONAL_COORDINATES: usize = 4;

/// A contribution in the direction (½, ½, ½, ½).
fn diagonal(contribution: &Change) -> Change {
    let quarters =
        |&(step, _, amount): &Entry| (0..DIAGONAL_COORDINATES).map(move |lane| (step, lane, 0.5 * amount));
    Change::of(contribution.entries().iter().flat_map(quarters))
}

/// Adds to changes in one lane the same changes spread over `used` of the lanes: all that differ by
/// more than a permutation of lanes, or random ones if these are too many. Returns whether none is
/// omitted.
fn spread(changes: &mut Vec<Change>, lanes: usize, used: usize, max: usize) -> bool {
    let longest = changes.iter().map(|change| change.entries().len()).max().unwrap_or(0);
    let ways: f64 = changes.iter().map(|change| ways_to_spread(change.entries().len(), used)).sum();
    let before = changes.len();
    if ways <= max.max(2 * before) as f64 {
        for index in 0..before {
            let change = changes[index].clone();
            each_spread(&change, used, &mut |spread| changes.push(spread));
        }
        return longest.min(lanes) <= used;
    }
    let mut coins = Coins::public();
    for _ in 0..max {
        let change = &changes[coins.below(before)];
        let anywhere = |&(step, _, amount): &Entry| (step, coins.below(used), amount);
        changes.push(Change::of(change.entries().iter().map(anywhere).collect::<Vec<_>>()));
    }
    false
}

/// The number of ways to divide `entries` entries among at most `lanes` unnamed lanes.
fn ways_to_spread(entries: usize, lanes: usize) -> f64 {
    // ways[j]: divisions among exactly j lanes so far. The next entry joins one of them or opens
    // another.
    let mut ways = vec![0.0; lanes + 1];
    ways[0] = 1.0;
    for _ in 0..entries {
        for j in (1..=lanes).rev() {
            ways[j] = j as f64 * ways[j] + ways[j - 1];
        }
        ways[0] = 0.0;
    }
    ways.iter().sum()
}

/// Every way to spread a change over more than one lane: an entry joins a lane that an earlier
/// entry opened, or opens the next lane.
fn each_spread(change: &Change, lanes: usize, take: &mut impl FnMut(Change)) {
    fn go(
        entries: &[Entry],
        spread: &mut Vec<Entry>,
        opened: usize,
        lanes: usize,
        take: &mut impl FnMut(Change),
    ) {
        let Some(&(step, _, amount)) = entries.get(spread.len()) else {
            if opened > 1 {
                take(Change::of(spread.iter().copied()));
            }
            return;
        };
        for lane in 0..lanes.min(opened + 1) {
            spread.push((step, lane, amount));
            go(entries, spread, opened.max(lane + 1), lanes, take);
            spread.pop();
        }
    }
    go(change.entries(), &mut Vec::new(), 0, lanes, take);
}

/// The ends of the range of a value, without zero.
pub(crate) fn ends(contribution: Contribution) -> Vec<f64> {
    let (lo, hi) = (contribution.lo(), contribution.hi());
    if lo >= 0.0 {
        vec![hi]
    } else if hi <= 0.0 {
        vec![lo]
    } else {
        vec![hi, lo]
    }
}

/// In how many steps a person may change the input by the whole contribution, with any signs. Of changes with
/// bounded squares, so many of one unit may all have one sign.
pub(crate) fn most_steps(participation: Participation, length: u64) -> usize {
    let most = participation.squares().map_or(participation.bounded(length), u64::isqrt);
    usize::try_from(most).unwrap_or(usize::MAX)
}

fn contributions(promise: &Promise, steps: &[usize], max: usize) -> (Vec<Change>, bool) {
    let length = steps.last().map_or(0, |last| last + 1);
    let participation = promise.participation;
    let at_most = most_steps(participation, length as u64);
    let shape = Shape {
        steps,
        at_most,
        gap: usize::try_from(participation.min_gap()).unwrap_or(usize::MAX),
        ends: ends(promise.contribution),
        is_in_turn: participation.is_in_turn(),
    };
    if shape.count() <= max as f64 {
        let mut all = Vec::new();
        shape.extend(&mut Vec::new(), 0, &mut all);
        (all, participation.squares().is_none())
    } else {
        (shape.selection(max), false)
    }
}

struct Shape<'a> {
    steps: &'a [usize],
    at_most: usize,
    gap: usize,
    ends: Vec<f64>,
    /// Whether an end is followed by the other.
    is_in_turn: bool,
}

type Entry = (usize, usize, f64);

impl Shape<'_> {
    /// The first index whose step may follow the step at `index`.
    fn following(&self, index: usize) -> usize {
        let least = self.steps[index].saturating_add(self.gap);
        self.steps.partition_point(|&step| step < least)
    }

    /// The number of contributions, as a float because it may be huge.
    fn count(&self) -> f64 {
        let n = self.steps.len();
        // starting[i]: contributions of the current number of steps whose first is at i or later.
        let mut starting = vec![1.0; n + 1];
        let mut total = 0.0;
        for _ in 0..self.at_most.min(n) {
            let mut longer = vec![0.0; n + 1];
            for i in (0..n).rev() {
                longer[i] = longer[i + 1] + self.ends.len() as f64 * starting[self.following(i)];
            }
            starting = longer;
            total += starting[0];
            if starting[0] == 0.0 || total > 1e300 {
                break;
            }
        }
        total
    }

    /// All contributions that start with these entries.
    fn extend(&self, begun: &mut Vec<Entry>, from: usize, all: &mut Vec<Change>) {
        if begun.len() == self.at_most {
            return;
        }
        for index in from..self.steps.len() {
            for &end in &self.ends {
                if self.is_in_turn && begun.last().is_some_and(|(.., before)| *before == end) {
                    continue;
                }
                begun.push((self.steps[index], 0, end));
                all.push(Change::of(begun.iter().copied()));
                self.extend(begun, self.following(index), all);
                begun.pop();
            }
        }
    }

    /// Half evenly spaced patterns of one sign, and half random patterns of random signs.
    fn selection(&self, max: usize) -> Vec<Change> {
        let mut chosen = Vec::new();
        let mut spacing = self.gap;
        let length = self.steps.last().map_or(0, |last| last + 1);
        while spacing <= length && chosen.len() < max / 2 {
            for first in 0..self.steps.len().min(max / 64 + 1) {
                for &end in &self.ends {
                    chosen.push(self.spaced(first, spacing, end));
                }
            }
            spacing = spacing.saturating_mul(2);
        }
        let mut coins = Coins::public();
        while chosen.len() < max {
            let mut entries = Vec::new();
            let mut index = coins.below(self.steps.len());
            while entries.len() < self.at_most && index < self.steps.len() {
                let end = self.ends[coins.below(self.ends.len())];
                entries.push((self.steps[index], 0, self.next_end(&entries, end)));
                let (free, slack) = (self.following(index), self.steps.len() / self.at_most + 1);
                index = free.saturating_add(coins.below(slack));
            }
            chosen.push(Change::of(entries));
        }
        chosen
    }

    /// This end, or the one whose turn it is.
    fn next_end(&self, before: &[Entry], end: f64) -> f64 {
        match before.last() {
            Some((.., last)) if self.is_in_turn => -last,
            _ => end,
        }
    }

    fn spaced(&self, first: usize, spacing: usize, end: f64) -> Change {
        let mut entries = vec![(self.steps[first], 0, end)];
        let mut least = self.steps[first].saturating_add(spacing);
        while entries.len() < self.at_most {
            let Some(&step) = self.steps.get(self.steps.partition_point(|&step| step < least)) else { break };
            entries.push((step, 0, self.next_end(&entries, end)));
            least = step.saturating_add(spacing);
        }
        Change::of(entries)
    }
}

/// One contribution minus another, for all pairs or random ones.
fn replacements(contributions: &[Change], max: usize) -> Vec<Change> {
    if contributions.len().pow(2) <= max {
        return contributions
            .iter()
            .flat_map(|one| contributions.iter().map(move |other| one.less(other)))
            .collect();
    }
    let mut coins = Coins::public();
    let mut any = || &contributions[coins.below(contributions.len())];
    (0..max).map(|_| any().less(any())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::{Budget, Participation};

    fn promise(steps: u64, gap: u64, range: (f64, f64), neighbours: Neighbours) -> Promise {
        Promise {
            budget: Budget::new(1.0, 1e-6).unwrap(),
            neighbours,
            participation: Participation::at_most(steps, gap).unwrap(),
            contribution: Contribution::range(range.0, range.1).unwrap(),
        }
    }

    fn of(promise: &Promise, steps: usize, lanes: usize, max: usize) -> Neighbourhood {
        Neighbourhood::new(promise, &(0..steps).collect::<Vec<_>>(), lanes, max)
    }

    /// Every set of up to three of four steps, with both first signs, and no others; spread over keys, each
    /// key keeps its turns.
    #[test]
    fn changes_in_turn_alternate() {
        let participation = Participation::in_turn(3).unwrap();
        let promise = Promise { participation, ..promise(3, 1, (-1.0, 1.0), Neighbours::AddRemove) };
        let one = Neighbourhood::new(&promise, &[0, 1, 2, 3], 1, 1000);
        assert!(one.is_complete && one.changes.len() == 2 * (4 + 6 + 4), "{}", one.changes.len());
        assert!(one.changes.iter().all(alternates));
        let spread = Neighbourhood::new(&promise, &[0, 1, 2, 3], 2, 1000);
        assert!(!spread.is_complete && spread.changes.len() > one.changes.len());
        assert!(spread.changes.iter().all(alternates));
        let many = Neighbourhood::new(&promise, &(0..40).collect::<Vec<_>>(), 1, 50);
        assert!(!many.is_complete && many.changes.iter().all(alternates));
    }

    #[test]
    fn all_patterns_are_there_once() {
        let add = Neighbours::AddRemove;
        assert_eq!(of(&promise(1, 1, (0.0, 1.0), add), 5, 1, 1000).changes.len(), 5);
        // Pairs of five steps at least two apart: six, and five single steps.
        assert_eq!(of(&promise(2, 2, (0.0, 1.0), add), 5, 1, 1000).changes.len(), 11);
        // Two signs each.
        assert_eq!(of(&promise(2, 2, (-1.0, 1.0), add), 5, 1, 1000).changes.len(), 2 * 5 + 4 * 6);
        let all = of(&promise(5, 1, (0.0, 1.0), add), 5, 1, 1000);
        assert_eq!(all.changes.len(), 31);
        assert!(all.is_complete);
        let mut seen: Vec<_> = all.changes.iter().map(|change| format!("{change:?}")).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 31);
    }

    #[test]
    fn a_choice_keeps_to_the_promise() {
        let promise = promise(4, 7, (-2.0, 1.0), Neighbours::AddRemove);
        let some = of(&promise, 100, 1, 500);
        assert!(!some.is_complete && (500..700).contains(&some.changes.len()), "{}", some.changes.len());
        for change in &some.changes {
            let entries = change.entries();
            assert!((1..=4).contains(&entries.len()));
            assert!(entries.windows(2).all(|pair| pair[1].0 >= pair[0].0 + 7), "{change:?}");
            assert!(entries.iter().all(|entry| entry.2 == -2.0 || entry.2 == 1.0));
        }
    }

    #[test]
    fn what_is_replaced_may_move_to_another_lane() {
        let promise = promise(1, 1, (0.0, 1.0), Neighbours::Replace);
        assert_eq!(of(&promise, 4, 1, 1000).changes.len(), 16);
        // From any step of one lane to any step of another.
        let moved = of(&promise, 4, 2, 1000);
        assert!(moved.is_complete);
        assert_eq!(moved.changes.len(), 32);
        assert_eq!(moved.changes[16], Change::of([(0, 0, 1.0), (0, 1, -1.0)]));
        assert_eq!(moved.changes[17], Change::of([(0, 0, 1.0), (1, 1, -1.0)]));
        assert!(!of(&promise, 40, 1, 1000).is_complete);
        // If there are too many pairs, the list still has the move to the same step in another
        // lane.
        let some = of(&promise, 100, 2, 1000);
        assert!(!some.is_complete);
        for step in 0..100 {
            assert!(some.changes.contains(&Change::of([(step, 0, 1.0), (step, 1, -1.0)])), "{step}");
        }
    }

    #[test]
    fn steps_of_one_person_may_count_for_different_keys() {
        let promise = promise(3, 1, (0.0, 1.0), Neighbours::AddRemove);
        // Patterns of 1, 2 and 3 of four steps, spread in 1, 2 and 5 ways.
        let all = of(&promise, 4, 5, 1000);
        assert!(all.is_complete);
        assert_eq!(all.changes.len(), 4 + 6 * 2 + 4 * 5);
        let apart = Change::of([(0, 0, 1.0), (1, 1, 1.0), (3, 2, 1.0)]);
        assert!(all.changes.contains(&apart));
        // Two lanes cannot hold three keys, and the fifth way is missing.
        assert_eq!(of(&promise, 4, 2, 1000).changes.len(), 4 + 6 * 2 + 4 * 4);
        assert_eq!((ways_to_spread(3, 5), ways_to_spread(3, 2), ways_to_spread(4, 4)), (5.0, 4.0, 15.0));
        let some = of(&promise, 60, 5, 1000);
        assert!(!some.is_complete && some.changes.iter().any(|change| change.entries()[0].1 > 0));
    }

    #[test]
    fn vectors_point_anywhere() {
        let promise = Promise {
            contribution: Contribution::norm(2.0).unwrap(),
            ..promise(1, 1, (-1.0, 1.0), Neighbours::AddRemove)
        };
        let all = of(&promise, 3, 7, 1000);
        assert!(all.is_complete);
        assert_eq!(all.changes.len(), 6 + 6);
        assert_eq!(all.changes[6], Change::of((0..4).map(|lane| (0, lane, 1.0))));
        let twice = Promise { participation: Participation::at_most(2, 1).unwrap(), ..promise };
        assert!(!of(&twice, 3, 7, 1000).is_complete, "angles are not all tried");
    }
}
