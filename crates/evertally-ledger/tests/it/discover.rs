//! Keys that a counter finds: its releases are those of the library's counter, bit for bit, wherever the
//! ledger fails, and hidden keys are nowhere to be seen.

use crate::common::*;
use evertally::{Budget, DiscoveringCounter, Neighbours, NoiseKey, Participation, PlanSpec, Workload};
use evertally_ledger::simulated::{Faults, SimulatedMachine};
use evertally_ledger::{
    CounterView, Discover, Event, Ledger, Location, Mode, NewPopulation, ReadView, Receipt, Spec, Status,
};
use evertally_stream::{Amount, Buckets, OpenGather, Rules};
use proptest::prelude::*;

const STEPS: u64 = 6;

/// An event: its time, key and person.
type Made = (i64, String, String);

/// What was released of a step: the names of its keys, and the values as bits.
type Step = Vec<(String, u64)>;

fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(7)
}

fn people() -> NewPopulation {
    NewPopulation { key_delta: 0.5, ..population("people", "person", plenty()) }
}

/// A threshold of a dozen persons.
fn spec() -> Spec {
    let spec = Spec::new("pages", "people", 1.0, 0.02).steps(STEPS).persons(2, 1).unwrap();
    let discover = Discover { key_delta: Some(0.015), ..Discover::default() };
    by_the_second(Spec { discover: Some(discover), ..spec })
}

fn open_on(machine: &SimulatedMachine) -> evertally_ledger::Result<Ledger> {
    Ledger::open(Location::on(machine.disk(), machine.fence(), 1), key(), START)
}

fn started() -> (SimulatedMachine, Ledger) {
    let machine = SimulatedMachine::new(1);
    let mut ledger = open_on(&machine).unwrap();
    ledger.grant(&people()).unwrap();
    create(&mut ledger, &spec());
    (machine, ledger)
}

fn post(ledger: &mut Ledger, events: &[(usize, Made)], now: i64) -> evertally_ledger::Result<Receipt> {
    let counter = ledger.read_view().counter("pages").unwrap();
    let prepare = |(id, (time, key, person)): &(usize, Made)| {
        let (id, key, person) = (&*format!("{id}"), Some(&**key), Some(&**person));
        counter.intake().prepare(&Event { id, time: Some(*time), key, person, value: None })
    };
    let events: Vec<_> = events.iter().map(prepare).collect::<Result<_, _>>()?;
    ledger.submit(&counter, &events, now)
}

/// What `count --discover` releases of these events, under the noise of this counter.
fn oracle(counter: &CounterView, events: &[Made]) -> Vec<Step> {
    let rules =
        Rules { limits: Some(Participation::at_most(2, 1).unwrap()), has_ids: true, ..Rules::default() };
    let buckets = Buckets::new(START, "1s".parse().unwrap(), STEPS).unwrap();
    let mut gather = OpenGather::new(buckets, rules, 1 << 24).unwrap();
    for (id, (time, key, person)) in events.iter().enumerate() {
        let (id, key, person) = (Some(&*format!("{id}")), Some(&**key), Some(&**person));
        gather.push(&evertally_stream::Event { time: *time, key, person, id, value: None }).unwrap();
    }
    let gathered = gather.finish().unwrap();
    let discovery = counter.counter_plan().discovery().unwrap();
    let mut finding = DiscoveringCounter::new(discovery, key()).unwrap();
    let mut step = |step| {
        for row in gathered.of_step(step) {
            let amount = row.amount.grid_steps();
            finding.add_amount(row.key, amount, Amount::GRID_EXPONENT, row.new_persons).unwrap();
        }
        let found = finding.close_step().unwrap();
        found.iter().map(|key| (key.key.to_owned(), key.release.value.to_bits())).collect()
    };
    (0..STEPS).map(&mut step).collect()
}

fn released(view: &ReadView) -> Vec<Step> {
    let counter = view.counter("pages").unwrap();
    let releases = view.releases(&counter, 0..u64::MAX).unwrap();
    let names = counter.key_names().unwrap();
    let step = |values: &[f64]| {
        let row = |(lane, value): (usize, &f64)| (names.get(lane).unwrap().to_owned(), value.to_bits());
        values.iter().enumerate().map(row).collect()
    };
    let steps: Vec<Step> = releases.iter().map(|release| step(&release.values)).collect();
    let latest = counter.latest().map(|latest| step(&latest.values));
    assert_eq!(latest.as_ref(), steps.last());
    steps
}

/// Visits of a few popular pages and of many that one person sees.
fn made() -> impl Strategy<Value = Vec<Made>> {
    let event = (0..STEPS as i64 * SECOND, 0_u64..40, 0_u64..90);
    prop::collection::vec(event, 0..300).prop_map(|events| {
        let mut events: Vec<Made> = events
            .into_iter()
            .map(|(time, key, person)| {
                let key = if key < 30 { format!("page {}", key % 4) } else { format!("rare {key} {person}") };
                (START + time, key, format!("person {person}"))
            })
            .collect();
        events.sort_unstable();
        events
    })
}

/// A fixed history in which keys appear at several steps.
fn history() -> Vec<Made> {
    let mut events: Vec<Made> = (0..240_i64)
        .map(|number| {
            let key = match number % 5 {
                0 => format!("hidden {number}"),
                1 | 2 => "front".to_owned(),
                _ if number > 130 => "late".to_owned(),
                _ => "middle".to_owned(),
            };
            (START + number * (STEPS as i64 * SECOND) / 240, key, format!("person {}", number % 120))
        })
        .collect();
    events.sort_unstable();
    events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn releases_are_those_of_the_library(events in made(), restarts in any::<u64>()) {
        let (machine, mut ledger) = started();
        let counter = ledger.read_view().counter("pages").unwrap();
        let expected = oracle(&counter, &events);
        let numbered: Vec<(usize, Made)> = events.iter().cloned().enumerate().collect();
        for (round, part) in numbered.chunks(11).enumerate() {
            let (first, now) = (part[0].1.0, part[part.len() - 1].1.0);
            ledger.close_due(first).unwrap();
            post(&mut ledger, part, now).unwrap();
            prop_assert_eq!(post(&mut ledger, part, now).unwrap().counted, 0, "copies count once");
            ledger.commit(now).unwrap();
            match restarts >> (2 * (round % 32)) & 3 {
                0 => {}
                1 => ledger.checkpoint_all().unwrap(),
                _ => {
                    drop(ledger);
                    machine.kill();
                    ledger = open_on(&machine).unwrap();
                }
            }
        }
        ledger.close_due(START + 2 * STEPS as i64 * SECOND).unwrap();
        ledger.commit(START).unwrap();
        prop_assert_eq!(&released(&ledger.read_view()), &expected);
        ledger.verify().unwrap();
        // What was released stays when nothing private is left.
        ledger.checkpoint_all().unwrap();
        drop(ledger);
        let ledger = open_on(&machine).unwrap();
        prop_assert_eq!(&released(&ledger.read_view()), &expected);
        prop_assert_eq!(ledger.read_view().counter("pages").unwrap().status(), Status::Ended);
        ledger.verify().unwrap();
    }
}

/// Plays a part of the history until something fails. Returns whether everything was committed.
fn play(ledger: &mut Ledger, events: &[Made], seen: &mut Vec<Step>) -> bool {
    let numbered: Vec<(usize, Made)> = events.iter().cloned().enumerate().collect();
    for (round, part) in numbered.chunks(40).enumerate() {
        let (first, now) = (part[0].1.0, part[part.len() - 1].1.0);
        let done = ledger.close_due(first).is_ok()
            && post(ledger, part, now).is_ok()
            && ledger.commit(now).is_ok()
            && (round % 2 == 0 || ledger.checkpoint_all().is_ok());
        let shown = ledger.read_view();
        if shown.counter("pages").is_some() {
            *seen = released(&shown);
        }
        if !done {
            return false;
        }
    }
    let end = START + 2 * STEPS as i64 * SECOND;
    let done = ledger.close_due(end).is_ok() && ledger.commit(end).is_ok();
    *seen = released(&ledger.read_view());
    done
}

/// The power goes at every operation of the disk and the fence in turn. What was shown is a beginning of
/// what is shown at the end, and that is what would have been released without the failure.
#[test]
fn recovery_at_every_point_makes_the_same_releases() {
    let events = history();
    let (machine, mut ledger) = started();
    let expected = oracle(&ledger.read_view().counter("pages").unwrap(), &events);
    let since = |name: &str| expected.iter().position(|step| step.iter().any(|key| key.0 == name));
    assert!(since("front") < since("late") && since("late").is_some(), "keys appear at several steps");
    assert!(expected.iter().flatten().all(|key| !key.0.starts_with("hidden")));
    drop(ledger);
    let image = machine.image();
    let fence = evertally_ledger::Fence::read(&mut machine.fence()).unwrap().unwrap();
    let start = |seed| {
        let machine = SimulatedMachine::new(seed);
        machine.restore(image.clone());
        evertally_ledger::Fence::write(&mut machine.fence(), &fence).unwrap();
        machine
    };
    let machine = start(0);
    ledger = open_on(&machine).unwrap();
    assert_eq!(ledger.read_view().mode(), Mode::Running);
    machine.plan(Faults::default());
    assert!(play(&mut ledger, &events, &mut Vec::new()));
    let operations = machine.counts().all();
    assert!(operations > 100, "{operations}");
    drop(ledger);
    let mut failures = 0;
    for at in 0..operations {
        let machine = start(at);
        let mut seen = Vec::new();
        let mut ledger = open_on(&machine).unwrap();
        machine.plan(Faults { power_fails_at: Some(at), ..Faults::default() });
        failures += u64::from(!play(&mut ledger, &events, &mut seen));
        drop(ledger);
        machine.cut_power(at);
        let mut ledger = open_on(&machine).unwrap();
        let recovered = released(&ledger.read_view());
        assert!(recovered.starts_with(&seen), "cut at {at}: what was shown stays");
        // The client sends everything again: its ids and the bound let nothing count twice.
        assert!(play(&mut ledger, &events, &mut seen));
        assert_eq!(seen, expected, "cut at {at}");
        ledger.verify().unwrap();
    }
    assert!(failures > operations / 4, "{failures} of {operations}");
}

/// A flipped name, a lost row of a person's keys and a row of another frame are noticed.
#[test]
fn rows_that_were_changed_are_noticed() {
    use redb::ReadableTable;
    let home = Home::new();
    let tables = |change: &dyn Fn(&redb::WriteTransaction)| {
        let database = redb::Database::open(home.file()).unwrap();
        let transaction = database.begin_write().unwrap();
        change(&transaction);
        transaction.commit().unwrap();
    };
    const FOUND: redb::TableDefinition<'_, u32, &[u8]> = redb::TableDefinition::new("found");
    const HOLDERS: redb::TableDefinition<'_, (u32, u128), &[u8]> = redb::TableDefinition::new("holders");
    let mut ledger = home.open();
    ledger.grant(&people()).unwrap();
    create(&mut ledger, &spec());
    let events: Vec<(usize, Made)> = history().into_iter().take(60).enumerate().collect();
    post(&mut ledger, &events, START + 2 * SECOND).unwrap();
    ledger.commit(START).unwrap();
    ledger.checkpoint_all().unwrap();
    let earlier = std::cell::RefCell::new(Vec::new());
    drop(ledger);
    tables(&|transaction| {
        let found = transaction.open_table(FOUND).unwrap();
        *earlier.borrow_mut() = found.get(0).unwrap().unwrap().value().to_vec();
    });
    let mut ledger = home.open();
    ledger.close_due(START + 2 * SECOND).unwrap();
    ledger.commit(START).unwrap();
    ledger.checkpoint_all().unwrap();
    drop(ledger);
    let whole = std::fs::read(home.file()).unwrap();
    let flipped = |row: &[u8]| {
        let mut row = row.to_vec();
        let at = row.windows(6).position(|name| name == b"hidden").unwrap();
        row[at] ^= 1;
        row
    };
    let changes: [&dyn Fn(&redb::WriteTransaction); 4] = [
        &|transaction| {
            let mut found = transaction.open_table(FOUND).unwrap();
            let row = flipped(found.get(0).unwrap().unwrap().value());
            found.insert(0, &row[..]).unwrap();
        },
        &|transaction| {
            transaction.open_table(FOUND).unwrap().insert(0, &earlier.borrow()[..]).unwrap();
        },
        &|transaction| {
            transaction.open_table(FOUND).unwrap().remove(0).unwrap();
        },
        &|transaction| {
            let mut holders = transaction.open_table(HOLDERS).unwrap();
            let first = holders.first().unwrap().unwrap().0.value();
            holders.remove(first).unwrap();
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        std::fs::write(home.file(), &whole).unwrap();
        tables(change);
        let refusal = home.try_open().map(drop).unwrap_err().to_string();
        assert!(refusal.contains("keys"), "{number}: {refusal}");
        assert!(!refusal.contains("hidden"), "{refusal}");
    }
    std::fs::write(home.file(), &whole).unwrap();
    home.open();
}

/// A restored backup goes on in a new epoch: what was found stays, noise is fresh, and δ_key is paid again.
#[test]
fn a_new_epoch_pays_for_keys_again_and_keeps_what_was_found() {
    let home = Home::new();
    let mut ledger = home.open();
    ledger.grant(&NewPopulation { key_delta: 0.03, ..people() }).unwrap();
    create(&mut ledger, &spec());
    let events: Vec<(usize, Made)> = history().into_iter().enumerate().collect();
    let half = events.len() / 2;
    post(&mut ledger, &events[..half], START + 3 * SECOND).unwrap();
    ledger.close_due(START + 3 * SECOND).unwrap();
    ledger.commit(START).unwrap();
    let before = released(&ledger.read_view());
    assert!(!before[2].is_empty() && before[2].iter().all(|(name, _)| !name.starts_with("hidden")));
    drop(ledger);
    let backup = home.directory.with_extension("backup");
    copy(&home.directory, &backup);
    let mut ledger = home.open();
    post(&mut ledger, &events[half..half + 20], START + 4 * SECOND).unwrap();
    ledger.close_due(START + 4 * SECOND).unwrap();
    ledger.commit(START).unwrap();
    let lost = released(&ledger.read_view());
    drop(ledger);
    for round in 0..2 {
        copy(&backup, &home.directory);
        let mut ledger = home.open();
        assert!(matches!(ledger.read_view().mode(), Mode::Fenced { .. }));
        let preview = ledger.epoch_preview();
        assert_eq!(preview[0].affordable, round == 0, "δ_key of 0.015 is paid twice, and not three times");
        let started = ledger.start_epoch().unwrap();
        ledger.commit(START).unwrap();
        let account = &ledger.read_view().populations()[0];
        if round == 1 {
            // The fence knows what the lost epoch paid.
            assert!(started.left[0].1.contains("for keys that are found"), "{:?}", started.left);
            assert!((account.spent_on_keys() - 0.03).abs() < 1e-12);
            break;
        }
        assert!((account.spent_on_keys() - 0.03).abs() < 1e-12, "{}", account.spent_on_keys());
        post(&mut ledger, &events[half..half + 20], START + 4 * SECOND).unwrap();
        ledger.close_due(START + 4 * SECOND).unwrap();
        ledger.commit(START).unwrap();
        let after = released(&ledger.read_view());
        assert_eq!(after[..3], before[..3]);
        let names = |step: &Step| step.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&after[3])[..before[2].len()], names(&before[2]), "what was found stays found");
        let fresh = after[3].iter().filter(|row| !lost[3].contains(row)).count();
        assert!(fresh > 0, "with fresh noise");
        drop(ledger);
        assert_eq!(released(&home.open().read_view()), after);
    }
}

#[test]
fn delta_for_keys_must_be_set_aside_and_adds_up() {
    let refusal = |key_delta: f64, total: Budget| {
        let home = Home::new();
        let mut ledger = home.open();
        let population = NewPopulation { key_delta, ..population("people", "person", total) };
        ledger.grant(&population)?;
        ledger.create(&spec().plan(START)?, START)?;
        ledger.commit(START)?;
        let second = Spec { name: "second".to_owned(), ..spec() }.plan(START)?;
        assert_eq!(ledger.read_view().can_afford(&second), Some(key_delta >= 0.03));
        drop(ledger);
        let ledger = home.open();
        assert_eq!(ledger.read_view().populations()[0].spent_on_keys(), 0.015);
        assert_eq!(ledger.read_view().populations()[0].key_delta, key_delta);
        Ok::<(), evertally_ledger::Error>(())
    };
    let text = |key_delta, total| refusal(key_delta, total).unwrap_err().to_string();
    refusal(0.02, plenty()).unwrap();
    refusal(0.04, Budget::new(9.0, 0.1).unwrap()).unwrap();
    assert!(text(0.0, plenty()).contains("δ = 1.5e-2 for keys that are found"));
    assert!(text(0.01, plenty()).contains("left δ = 1e-2") || text(0.01, plenty()).contains("δ = 1e-2"));
    for (bad, total) in
        [(0.1, Budget::new(9.0, 0.1).unwrap()), (1e-9, Budget::pure(9.0).unwrap()), (-0.1, plenty())]
    {
        assert!(text(bad, total).contains("key_delta must be above zero and below"), "{bad}");
    }
    // What is set aside is no longer there for noise.
    let room = |key_delta: f64| {
        let mut ledger = Home::new().open();
        let total = Budget::new(1.0, 1e-6).unwrap();
        ledger.grant(&NewPopulation { key_delta, ..population("people", "person", total) }).unwrap();
        ledger.commit(START).unwrap();
        ledger.read_view().populations()[0].odometer.room(1e-6).unwrap()
    };
    assert!(room(0.9e-6) < 0.95 * room(0.0));
}

#[test]
fn what_cannot_be_found_is_refused() {
    let refusal = |spec: Spec| spec.plan(START).unwrap_err().to_string();
    let discover = |change: &dyn Fn(Discover) -> Discover| {
        let discover = spec().discover.map(change);
        refusal(Spec { discover, ..spec() })
    };
    assert!(refusal(spec().keys(["a"])).contains("keys must be left out"));
    assert!(refusal(Spec { bounds_persons: false, ..spec() }).contains("max_steps must be given"));
    assert!(refusal(spec().steps(None)).contains("steps must be given"));
    assert!(refusal(spec().distinct(1).unwrap()).contains("distinct must be left out"));
    let plan = PlanSpec { workload: Workload::SlidingWindow { width: 3 }, ..spec().plan };
    assert!(refusal(Spec { plan, ..spec() }).contains("prefix-sum"));
    assert!(discover(&|found| Discover { key_delta: Some(0.02), ..found }).contains("key_delta"));
    assert!(discover(&|found| Discover { key_delta: Some(0.0), ..found }).contains("key_delta"));
    assert!(discover(&|found| Discover { share: Some(1.0), ..found }).contains("share"));
    assert!(discover(&|found| Discover { floor: Some(0), ..found }).contains("floor"));
    assert!(discover(&|found| Discover { floor: Some(1 << 40), ..found }).contains("the threshold"));
    assert!(discover(&|found| Discover { memory_limit: Some(5), ..found }).contains("memory_limit"));
    let pure = Spec::new("pages", "people", 1.0, 0.0).steps(STEPS).persons(2, 1).unwrap();
    let pure = Spec { discover: Some(Discover::default()), ..pure };
    assert!(refusal(pure).contains("no key could ever appear"));
    // Persons are protected, so a population of events cannot pay.
    let mut ledger = Home::new().open();
    ledger.grant(&NewPopulation { key_delta: 0.1, ..everyone(plenty()) }).unwrap();
    let of_events = Spec { population: "everyone".to_owned(), ..spec() }.plan(START).unwrap();
    assert!(ledger.create(&of_events, START).unwrap_err().to_string().contains("unit"));
    let replaced = PlanSpec { neighbours: Neighbours::Replace, ..spec().plan };
    Spec { plan: replaced, ..spec() }.plan(START).unwrap();
}

#[test]
fn an_event_for_an_unknown_key_is_answered_like_any_other() {
    let (_machine, mut ledger) = started();
    let counter = ledger.read_view().counter("pages").unwrap();
    let submit = |ledger: &mut Ledger, id: &str, key: Option<&str>, person: &str| {
        let event = Event { id, key, person: Some(person), ..Event::default() };
        ledger.submit(&counter, &[counter.intake().prepare(&event).unwrap()], START).unwrap()
    };
    let first = submit(&mut ledger, "a", Some("known"), "p");
    assert_eq!(submit(&mut ledger, "b", Some(" known "), "q"), first);
    assert_eq!(submit(&mut ledger, "c", Some("unknown"), "r"), first);
    // No key is nobody's, whatever else stands in the request, and takes nothing of its person.
    let long = "x".repeat(10 << 20);
    for key in [None, Some(""), Some(" \t"), Some(&*long), Some(&long[..257])] {
        let receipt = submit(&mut ledger, "d", key, "s");
        assert_eq!((receipt.unnamed, receipt.received()), (1, 1));
    }
    assert_eq!(submit(&mut ledger, "d", Some("unknown"), "s"), first);
    assert_eq!(submit(&mut ledger, "e", Some("unknown"), " ").unnamed, 1);
}

/// Nothing that can be printed or read has the name of a hidden key, or how many there are.
#[test]
fn hidden_keys_are_nowhere_to_be_seen() {
    let (_machine, mut ledger) = started();
    let events: Vec<(usize, Made)> = history().into_iter().enumerate().collect();
    let printed = |ledger: &Ledger| {
        let view = ledger.read_view();
        let counter = view.counter("pages").unwrap();
        format!("{view:?}{counter:#?}{:?}{:?}", counter.key_names(), view.populations())
    };
    post(&mut ledger, &events, START + STEPS as i64 * SECOND).unwrap();
    ledger.close_due(START + STEPS as i64 * SECOND).unwrap();
    assert!(!printed(&ledger).contains("front"), "nothing is shown before it is durable");
    ledger.commit(START).unwrap();
    let text = printed(&ledger);
    assert!(text.contains("front") && !text.contains("hidden") && !text.contains("person 1"), "{text}");
    let view = ledger.read_view();
    let counter = view.counter("pages").unwrap();
    let names = counter.key_names().unwrap().len();
    for lane in [names, names + 1, names + 40] {
        let refusal = view.sum(&counter, 0, 5, lane).unwrap_err().to_string();
        assert_eq!(refusal, view.sum(&counter, 0, 5, 1 << 30).unwrap_err().to_string());
    }
    // A sum that begins before a key appeared is refused as well: its total then is not released.
    let late = (0..names).find(|lane| counter.key_names().unwrap().get(*lane) == Some("late")).unwrap();
    assert!(view.sum(&counter, 1, 5, late).unwrap_err().to_string().contains("first must be 0"));
    view.sum(&counter, 0, 5, late).unwrap();
}

/// Once keys have taken their memory, every event is refused, also those of known keys, and what counted
/// is released.
#[test]
fn a_counter_whose_memory_is_full_refuses_all_events_alike() {
    let machine = SimulatedMachine::new(1);
    let mut ledger = open_on(&machine).unwrap();
    ledger.grant(&people()).unwrap();
    let discover = spec().discover.map(|found| Discover { memory_limit: Some(1 << 20), ..found });
    create(&mut ledger, &Spec { discover, ..spec() });
    let event = |id: usize, key: String| (id, (START, key, format!("person {id}")));
    let mut refused = None;
    for round in 0..200_usize {
        let events: Vec<_> = (0..20).map(|n| event(20 * round + n, format!("rare {round} {n}"))).collect();
        if let Err(error) = post(&mut ledger, &events, START) {
            refused = Some((round, error.to_string()));
            break;
        }
        ledger.commit(START).unwrap();
    }
    let (round, text) = refused.expect("a mebibyte is full before 4,000 keys");
    assert!(round > 10 && text.contains("1048576 bytes"), "{round}: {text}");
    assert!(!text.contains("rare") && !text.contains(&format!("{}", 20 * round)));
    let mut ledgers = Vec::new();
    ledger.checkpoint_all().unwrap();
    for mut ledger in [ledger, {
        machine.kill();
        open_on(&machine).unwrap()
    }] {
        for key in ["rare 0 0", "new"] {
            let refusal = post(&mut ledger, &[event(9_999, key.to_owned())], START);
            ledgers.push(refusal.unwrap_err().to_string());
        }
    }
    assert!(ledgers.iter().all(|refusal| *refusal == text));
    let mut ledger = open_on(&machine).unwrap();
    ledger.close_due(START + SECOND).unwrap();
    ledger.commit(START).unwrap();
    assert_eq!(released(&ledger.read_view()).len(), 1, "it goes on releasing");
    ledger.retire("pages").unwrap();
    ledger.commit(START).unwrap();
    ledger.delete("pages").unwrap();
    ledger.commit(START).unwrap();
    drop(ledger);
    assert!(open_on(&machine).unwrap().read_view().counter("pages").is_none());
}
