//! Tables as Arrow record batches that share the engine's vectors.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int16Type;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchIterator,
    StringArray,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString};
use record::{Column, Data, SCHEMA_VERSION};

/// A table of a run.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Table(pub(crate) RecordBatch);

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.0.schema()).map_err(|error| arrow_failure(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        // The interface allows a producer that cannot cast to ignore the wish.
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}

/// The columns of `table` as Arrow arrays, units and the version of the schema as metadata.
pub(crate) fn record_batch(table: record::Table) -> Result<RecordBatch, ArrowError> {
    let name = table.name;
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = table.columns.into_iter().map(field_and_array).unzip();
    let metadata = HashMap::from([
        ("ackclock.table".to_owned(), name.to_owned()),
        ("ackclock.schema_version".to_owned(), SCHEMA_VERSION.to_string()),
    ]);
    RecordBatch::try_new(Arc::new(Schema::new(fields).with_metadata(metadata)), arrays)
}

fn field_and_array(column: Column) -> (Field, ArrayRef) {
    let nullable = matches!(column.data, Data::NullableU32(_) | Data::NullableU64(_) | Data::NullableF64(_));
    let array: ArrayRef = match column.data {
        Data::U32(values) => primitive::<UInt32Type>(values, |_| true),
        Data::U64(values) => primitive::<UInt64Type>(values, |_| true),
        Data::F64(values) => primitive::<Float64Type>(values, |_| true),
        Data::NullableU32(values) => primitive::<UInt32Type>(values, |value| value != u32::MAX),
        Data::NullableU64(values) => primitive::<UInt64Type>(values, |value| value != u64::MAX),
        Data::NullableF64(values) => primitive::<Float64Type>(values, f64::is_finite),
        Data::Bool(values) => Arc::new(BooleanArray::from(values)),
        Data::Str(values) => Arc::new(StringArray::from(values)),
        Data::Dict { codes, names } => Arc::new(dictionary(codes, names)),
    };
    let mut field = Field::new(column.name, array.data_type().clone(), nullable);
    if let Some(unit) = column.unit {
        field = field.with_metadata(HashMap::from([("unit".to_owned(), unit.to_owned())]));
    }
    (field, array)
}

/// The vector as an array without copying it, null where `valid` says no.
fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, valid: fn(T::Native) -> bool) -> ArrayRef {
    let all = values.iter().all(|&value| valid(value));
    let nulls = (!all).then(|| values.iter().map(|&value| valid(value)).collect::<NullBuffer>());
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
}

/// Signed keys, because pandas takes no others. There are never so many names that the sign would show.
fn dictionary(codes: Vec<u16>, names: Vec<String>) -> DictionaryArray<Int16Type> {
    let length = codes.len();
    let keys = ScalarBuffer::<i16>::new(Buffer::from_vec(codes), 0, length);
    DictionaryArray::new(PrimitiveArray::new(keys, None), Arc::new(StringArray::from(names)))
}

/// The rows of `batch`, each with its values by the names of their columns; null is None.
pub(crate) fn rows<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let rows: Vec<_> = (0..batch.num_rows()).map(|_| PyDict::new(py)).collect();
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let name = PyString::new(py, field.name());
        for (row, value) in rows.iter().zip(values(py, column)?) {
            row.set_item(&name, value)?;
        }
    }
    Ok(rows)
}

/// The values of a column that [`field_and_array`] makes.
fn values<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match column.data_type() {
        DataType::UInt32 => each(py, column.as_primitive::<UInt32Type>()),
        DataType::UInt64 => each(py, column.as_primitive::<UInt64Type>()),
        DataType::Float64 => each(py, column.as_primitive::<Float64Type>()),
        DataType::Boolean => each(py, column.as_boolean()),
        DataType::Utf8 => each(py, column.as_string::<i32>()),
        DataType::Dictionary(..) => match column.as_dictionary::<Int16Type>().downcast_dict::<StringArray>() {
            Some(texts) => each(py, texts),
            None => Err(arrow_failure(&ArrowError::SchemaError("names must be text".to_owned()))),
        },
        other => Err(arrow_failure(&ArrowError::SchemaError(format!("no table has a column of {other}")))),
    }
}

fn each<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    column: impl IntoIterator<Item = Option<T>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    column.into_iter().map(|value| value.into_bound_py_any(py)).collect()
}

pub(crate) fn arrow_failure(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
