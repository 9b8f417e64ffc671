use super::*;

fn chart(title: &'static str, names: &[&str]) -> Chart {
    Chart {
        title,
        x: Axis::linear("updates"),
        y: Axis::log("loss"),
        series: names
            .iter()
            .map(|name: &&str| Series {
                name: name.to_string(),
                points: vec![(0.0, 1.0), (1.0, 10.0), (2.0, 100.0)],
            })
            .collect(),
    }
}

#[test]
fn titles_axes_and_legend_stand_in_the_svg() {
    let figure = Figure(vec![chart("Loss", &["a", "b"]), chart("BLEU", &["b"])]);
    let svg = figure.to_svg().unwrap();
    for label in ["Loss", "BLEU", "updates", "loss"] {
        assert!(svg.contains(label), "{label}");
    }
    // Plotters writes each text on a separate line. Each name appears once, in the legend.
    for name in ["a", "b"] {
        assert_eq!(
            svg.lines().filter(|line| *line == name).count(),
            1,
            "{name}\n{svg}"
        );
    }
}

#[test]
fn marks_are_round_and_those_of_a_logarithmic_axis_are_powers_of_two() {
    let linear = Axis::linear("x");
    let log = Axis::log("y");
    assert_eq!(
        [-0.1, 0.30000000000000004, 1500.0].map(|at| linear.number(at)),
        ["-0.1", "0.3", "1500"]
    );
    assert_eq!(
        [0.0, 2.5, 13.0, -1.0].map(|at| log.number(at)),
        ["1", "", "8192", "0.5"]
    );
    let mut chart = chart("Perplexity", &["a"]);
    chart.series[0].points = vec![(0.0, 8000.0), (1860.0, 4.0)];
    let svg = Figure(vec![chart]).to_svg().unwrap();
    let has = |mark: &str| svg.lines().any(|line| line == mark);
    for mark in ["0", "500", "1500", "16", "1024"] {
        assert!(has(mark), "{mark}: {svg}");
    }
}

#[test]
fn a_single_series_needs_no_legend() {
    let svg = Figure(vec![chart("Loss", &["alone"])]).to_svg().unwrap();
    assert!(!svg.contains("alone"));
}

#[test]
fn points_without_a_position_are_left_out() {
    let mut chart = chart("Loss", &["a"]);
    chart.series[0]
        .points
        .extend([(3.0, f64::NAN), (4.0, 0.0), (f64::INFINITY, 1.0)]);
    assert_eq!(chart.positions(&chart.series[0]).count(), 3);
    chart.series[0].points = vec![(1.0, -1.0)];
    let error = Figure(vec![chart]).to_svg().unwrap_err().to_string();
    assert_eq!(error, "nothing to draw: no series has a point");
}

#[test]
fn one_point_is_drawn_too() {
    let mut chart = chart("Loss", &["a"]);
    chart.series[0].points.truncate(1);
    assert!(Figure(vec![chart]).to_svg().unwrap().contains("<circle"));
}

#[test]
fn neighbouring_series_differ_in_colour_and_in_dashes() {
    for index in 0..20 {
        let one = Pen::of(index);
        let next = Pen::of(index + 1);
        assert!(one.color != next.color && one.dash != next.dash);
    }
}
