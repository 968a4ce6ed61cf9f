//! The options of `evertally graph`.

use super::protection::Protect;
use crate::budget_file::BudgetFileArgs;
use crate::commands::count::{DayOfWeek, InputArgs, Outside};
use crate::commands::shared::{PrivacyArgs, WorkloadArgs};
use crate::noise_key::NoiseKeyArgs;
use crate::output::{ForceArgs, OutputFormat};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Friendships of two years by week, with a picture. The file has the
  columns time, one and other:
    evertally graph friends.csv --time time --nodes one,other \\
      --every 1w --from 2026-01-05 --horizon 104 \\
      --count edges,degrees,triangles --max-degree 20 \\
      --epsilon 1 --delta 1e-6 --plot friends.svg

  The number of friendships, with each person and all of their friendships
  protected:
    evertally graph friends.csv --time time --nodes one,other \\
      --every 1w --from 2026-01-05 --horizon 104 \\
      --count edges --max-degree 200 --protect node \\
      --epsilon 1 --delta 1e-6

  Calls by day, with more of the budget for pairs of calls at one phone:
    evertally graph calls.parquet --time at --nodes caller,callee \\
      --every 1d --from 2026-01-01 --horizon 365 \\
      --count edges,stars:2 --share edges=1,stars:2=3 --max-degree 50 \\
      --epsilon 1 --delta 1e-6

An edge joins two nodes, whichever of them comes first. It counts once, in
the step of its first row. Edges are taken by time, and those of one moment
by the names of their nodes: a file need not be sorted. A row that names the
same node twice is no edge.

What is protected is one edge with all of its rows: whether two people know
each other, and since when. Who is in the graph at all, and that somebody has
very many edges, is not hidden. --protect node hides that too: a node with all
of its edges.

The bound on degrees decides what counts, and how much noise there is. Of a
node with more edges, the first ones count for stars and triangles, in the
order of time. This makes the numbers too low, and no error bar shows it.
Choose the bound from what you know in general, not from the data.

What is public: the options, and the declared range of time. The names of
nodes, how many there are, and the number of edges are private.

Memory grows with the rows, by 16 bytes for each, and with the nodes, by
their names and about 20 bytes. With triangles, up to 16 more for each edge
that counts.";

/// Release private statistics of a growing graph: edges, degrees, stars and triangles
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(super) inputs: InputArgs,

    /// The two columns that name the nodes of an edge
    #[arg(long, value_name = "COLUMN,COLUMN", help_heading = "What counts")]
    pub(super) nodes: String,
    /// What to release: edges, degrees, stars:K with K edges each, or triangles. Several are separated by
    /// commas
    ///
    /// degrees is the number of nodes with 1, 2, … edges, and with the bound or more. stars:2
    /// counts the pairs of edges at a common node. Several share the budget.
    #[arg(long, value_name = "WHAT", help_heading = "What is released")]
    pub(super) count: String,
    /// The most edges of a node that count for degrees, stars and triangles
    ///
    /// The noise of degrees grows with its square root, that of triangles with the bound, and that of stars:K
    /// with its power of K - 1.
    #[arg(long, value_name = "D", help_heading = "What counts")]
    pub(super) max_degree: Option<u32>,
    /// What is protected: one edge, or one node with all of its edges
    ///
    /// node takes far more noise, needs --max-degree for every statistic, and stops the count privately when
    /// too many nodes have more edges than that. The numbers of later steps are then frozen, and the header
    /// says since when. Half of the budget is for this test.
    #[arg(long, value_name = "WHAT", default_value = "edge", help_heading = "Privacy")]
    pub(super) protect: Protect,
    /// With --protect node: how many nodes may have any number of edges without a stop [default: 0]
    #[arg(long, value_name = "NODES", help_heading = "What counts")]
    pub(super) max_over: Option<u32>,
    /// The parts of the budget, such as edges=1,triangles=3 [default: equal parts]
    ///
    /// Four times the part is half the error. Equal parts cost each statistic the root of their number,
    /// whatever else is released.
    #[arg(long, value_name = "WHAT=PART", help_heading = "What is released")]
    pub(super) share: Option<String>,
    /// What to do with an edge outside the declared range
    #[arg(long, value_name = "ACTION", default_value = "refuse", help_heading = "What counts")]
    pub(super) outside: Outside,

    /// The column with the time of each row
    #[arg(long, value_name = "COLUMN", help_heading = "Steps")]
    pub(super) time: String,
    /// The length of a step: an integer with s, m (minutes), h, d, w, mo (months), q (quarters) or
    /// y, such as 1h or 3mo
    #[arg(long, value_name = "LENGTH", help_heading = "Steps")]
    pub(super) every: String,
    /// The start of the first step, such as 2026-01-05 or 2026-01-05T06:00:00Z
    #[arg(long, value_name = "TIME", help_heading = "Steps")]
    pub(super) from: String,
    /// The number of steps. It must be declared, because the time of the last edge is private
    #[arg(long, value_name = "N", help_heading = "Steps")]
    pub(super) horizon: Option<u64>,
    /// The end of the last step, instead of --horizon
    #[arg(long, value_name = "TIME", conflicts_with = "horizon", help_heading = "Steps")]
    pub(super) to: Option<String>,
    /// The time zone of times without an offset, and of days and longer steps, such as Europe/Zurich
    /// [default: UTC]
    #[arg(long, value_name = "NAME", help_heading = "Steps")]
    pub(super) timezone: Option<String>,
    /// The format of times in the input, such as "%d/%m/%Y %H:%M"
    #[arg(long, value_name = "FORMAT", help_heading = "Steps")]
    pub(super) time_format: Option<String>,
    /// The day on which weeks start, to check --from
    #[arg(long, value_name = "DAY", ignore_case = true, help_heading = "Steps")]
    pub(super) week_starts: Option<DayOfWeek>,

    #[command(flatten)]
    pub(super) privacy: PrivacyArgs,
    #[command(flatten)]
    pub(super) noise_key: NoiseKeyArgs,
    #[command(flatten)]
    pub(super) budget_file: BudgetFileArgs,
    #[command(flatten)]
    pub(super) workload: WorkloadArgs,

    /// The file to write. It appears only once it is complete [default: standard output]
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// The format of the output [default: by the name of --output, else csv]
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(super) format: Option<OutputFormat>,
    /// Draw the estimates with their 95 % intervals into an .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(super) force: ForceArgs,
}
