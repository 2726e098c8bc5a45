//! A report: what a person reads after an experiment, top to bottom.

use crate::{Graphic, Table};

/// A figure worth a tile of its own.
#[derive(Clone, Debug)]
pub struct Tile {
    pub(crate) label: String,
    pub(crate) value: String,
    pub(crate) note: Option<String>,
}

impl Tile {
    /// A label and the value as it shall read.
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into(), note: None }
    }

    /// A number, written as tables write it: a small one does not read as zero.
    pub fn number(label: impl Into<String>, value: f64, decimals: usize) -> Self {
        Self::new(label, crate::number::fixed(value, decimals))
    }

    /// A line under the value: its uncertainty, or what it is compared with.
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
}

/// One piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// Prose.
    Paragraph(String),
    /// A remark in small type: how something was measured, what to be careful about.
    Note(String),
    /// Text whose line breaks and blanks matter: a command, a configuration.
    Preformatted(String),
    /// Key figures side by side.
    Tiles(Vec<Tile>),
    /// A table.
    Table(Table),
    /// A drawing.
    Graphic(Box<Graphic>),
}

/// A heading and what stands under it.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds any block.
    pub fn push(&mut self, block: Block) -> &mut Self {
        self.blocks.push(block);
        self
    }

    /// Adds prose.
    pub fn paragraph(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Paragraph(text.into()))
    }

    /// Adds a remark in small type.
    pub fn note(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Note(text.into()))
    }

    /// Adds text whose line breaks matter.
    pub fn preformatted(&mut self, text: impl Into<String>) -> &mut Self {
        self.push(Block::Preformatted(text.into()))
    }

    /// Adds key figures.
    pub fn tiles(&mut self, tiles: impl IntoIterator<Item = Tile>) -> &mut Self {
        self.push(Block::Tiles(tiles.into_iter().collect()))
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) -> &mut Self {
        self.push(Block::Table(table))
    }

    /// Adds a [`crate::Chart`], [`crate::BarChart`] or [`crate::Stripes`].
    pub fn chart(&mut self, graphic: impl Into<Graphic>) -> &mut Self {
        self.push(Block::Graphic(Box::new(graphic.into())))
    }
}

/// A page of results.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) title: String,
    pub(crate) lead: Option<String>,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) sections: Vec<Section>,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// What was found, in a sentence or two under the title.
    pub fn lead(self, text: impl Into<String>) -> Self {
        Self { lead: Some(text.into()), ..self }
    }

    /// Adds what the results depend on: trace, seed, budget.
    pub fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// Adds a section that the closure fills.
    pub fn section(mut self, title: impl Into<String>, fill: impl FnOnce(&mut Section)) -> Self {
        let mut section = Section::new(title);
        fill(&mut section);
        self.push(section);
        self
    }

    /// Adds a section.
    pub fn push(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// The whole report as one HTML file.
    pub fn to_html(&self) -> String {
        crate::page::page(self).into_string()
    }
}
